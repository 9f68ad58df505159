/**
 * What a description in the schema must be like, as data: GraphiQL and MCP clients show it alone, without its type and
 * without its neighbours. descriptions.test.ts applies the rules.
 */
import { rules as wordRules } from '../../docs/words.ts'

export interface DescriptionRule {
  /** What is wrong with a description that breaks the rule, and how to fix it. */
  fault: string
  /** Whether a description breaks the rule. */
  breaks(text: string): boolean
  /** Descriptions that must break it, so that a rule never passes on nothing. */
  refuses: string[]
  /** Descriptions that must not. */
  accepts: string[]
}

const word = /[\p{L}\p{N}_]+(?:[.:'’/-][\p{L}\p{N}_]+)*/gu
const wordsOf = (text: string) => text.match(word) ?? []

/** Words that carry no meaning without a noun or verb beside them. */
const emptyWords = new Set(
  (
    'a an the this that these those it its they them their he she his her one ones some any all none both each every ' +
    'of for with without in inside by on at from to as under beside behind after before through within until since ' +
    'and or but else not no if than then when where why how what which who whose whether while only also too so such ' +
    'is are was were be been has have had do does did will would may might can could must should ' +
    'here there now once again ever never always more most less least very same other others rest null true false'
  ).split(' '),
)
const ownWords = (text: string) => wordsOf(text).filter((one) => !emptyWords.has(one.toLowerCase()))

/** A sentence ends with a full stop before a space and a new beginning; "provider/model" and "1.5" do not. */
const sentencesOf = (text: string) => text.split(/(?<=[^\s.]{2}\.)\s+(?=[A-Z{["'`\d])/)

/** Matches a text that begins with one of these words or phrases; `|` separates them, each a regular expression. */
const beginsWith = (...phrases: string[]) => new RegExp(`^(?:${phrases.join('|')})\\b`)

const prepositions = beginsWith(
  'For|Of|With|Without|In|Inside|By|On|At|From|To|As|Under|Beside|Behind|After|Before|Through|Within|Until|Since|Like',
  'And|Or|But|Else|Then',
)
const pronouns = beginsWith(
  'It|Its|They|Them|Their|He|She|This|That|These|Those|Such|So|Both|Either|Neither|None|Here|There|Now',
  'What follows|Which (?:is|are|was|of|way)|(?:Any|All|One) of (?:it|them)',
  'The (?:same|others?|rest|former|latter)|The (?:first|last|newest|oldest) of (?:it|them|several)',
  '(?:Only|All|Everything|Any) (?:those|these|they|it|that|for|of|with|in|by)',
)
const questions = '^(?:Why|How|When|Where|What|Whether|Which|Who|Whose)'
const aboutPronouns = [
  `${questions}(?: (?:else|much|many|long|often|far|of|in|to|for|at))*(?: \\w+)? (?:it|its|they|their|them|there)\\b`,
  `${questions}(?: \\w+)? (?:that|this|these|those) (?:is|are|was|were|has|have|of)\\b`,
].map((pattern) => new RegExp(pattern, 'i'))
const withoutNoun = beginsWith(
  'Absolute|Accepted|Announced|Approved|Asked|Begins|Cancelled|Counts(?! of)|Denied|Done|Expired|Failed|False|Given',
  'Left|Less|Letters|Matches|Null|Raised|Rejected|Required|Sent|Set|True|Unique|Used|Waiting|Waits|Written',
)

export const descriptionRules: DescriptionRule[] = [
  {
    fault: 'is missing: describe it',
    breaks: (text) => text.trim() === '',
    refuses: ['', ' '],
    accepts: ['The id of the project.'],
  },
  {
    fault: 'does not begin with a capital letter: begin with the noun or verb of the sentence',
    breaks: (text) => text.trim() !== '' && !/^[A-Z]/.test(text),
    refuses: ['provider/model.', "null: the provider's default.", '1 to 100.', '{} when left out.'],
    accepts: ['The model as provider/model.'],
  },
  {
    fault: 'does not end with a full stop',
    breaks: (text) => text.trim() !== '' && !/[^.\s]\.$/.test(text),
    refuses: ['The id of the project', 'The id ...', 'A policy: {statement: []}'],
    accepts: ['The id of the project.'],
  },
  {
    fault: 'has fewer than three words: say what it is the name, time or number of',
    breaks: (text) => text.trim() !== '' && wordsOf(text).length < 3,
    refuses: ['The call.', 'See error.', 'When.'],
    accepts: ['A tool call.'],
  },
  {
    fault: 'begins with a preposition or conjunction: begin with the thing itself',
    breaks: (text) => prepositions.test(text),
    refuses: [
      'For one answer.',
      'For people.',
      'In bytes.',
      'At most 100 ids.',
      'By which key.',
      'As announced.',
    ],
    accepts: ['Maximum output tokens of one model response.', 'The size in bytes.'],
  },
  {
    fault: 'begins with a pronoun, or with a word that points to something it does not name',
    breaks: (text) => pronouns.test(text),
    refuses: [
      'What follows when it does not come.',
      'Only those that stand there.',
      'Only for this tool.',
      'It was set.',
      'That of the server.',
      'The same as tools.',
      'The newest of them, at most 20.',
      'Both lists together.',
    ],
    accepts: [
      'Only generations with this status.',
      'What happens when the output of a client tool misses clientTimeoutMs.',
      'The newest calls of the tool.',
    ],
  },
  {
    fault: 'is about a pronoun: name the thing',
    breaks: (text) => aboutPronouns.some((pattern) => pattern.test(text)),
    refuses: [
      'When it was made.',
      'Why it failed, for programs.',
      'Whether its bytes are there.',
      'How many it stops that pass now.',
      'When that was.',
      'How they are reached.',
    ],
    accepts: ['When the agent was created.', 'Whether this agent may call the tool.', 'How the loop ends.'],
  },
  {
    fault: 'begins with an adjective or a verb without its noun: say who or what does it',
    breaks: (text) => withoutNoun.test(text),
    refuses: [
      'Begins with gen_.',
      'Counts from 1.',
      'Waits for a worker.',
      'Unique in the project.',
      'True: callTool is refused.',
      'Done; see stopReason.',
    ],
    accepts: ['The id of the generation; it begins with gen_.', 'The generation waits for a worker.'],
  },
  {
    fault: 'has fewer than two words of its own: name the thing and what it is or does',
    breaks: (text) => text.trim() !== '' && ownWords(text).length < 2,
    refuses: ['What there is of it.', 'The one for this tool.', 'How it is.'],
    accepts: ['The id of the tool.', 'A new agent.', 'Whether calls may be repeated.'],
  },
  {
    fault: 'has more than three sentences',
    breaks: (text) => sentencesOf(text).length > 3,
    refuses: ['One is here. Two are here. Three are here. Four are here.'],
    accepts: ['A number such as 1.5. The default is 2. Permission: tools:List.'],
  },
  {
    fault: 'says who without a name: write caller, client, worker, approver, process, server or Gatehouse',
    breaks: (text) =>
      /\b(?:somebody|someone|nobody|no one|anybody|everybody|whoever|whatever|we|us|our|ours|ourselves)\b/i.test(
        text,
      ),
    refuses: ['How we prove who we are.', 'Whoever decides has a role.', 'Nobody answered in time.'],
    accepts: ['Gatehouse proves its identity to the server.', 'No approver decided in time.'],
  },
  {
    fault:
      'uses a word that describes people, places or movement for a technical thing: say is, has, returns, receives',
    breaks: (text) =>
      /\b(?:stands?(?! for)|stood|hears?|heard|gone|tells?|told|comes?|came|looks?|looked)\b/i.test(text),
    refuses: [
      'Where a generation stands.',
      'Tools that are gone.',
      'The model is told it.',
      'When the output comes.',
      'The outside world hears it.',
    ],
    accepts: ['The status of the generation.', 'In a pattern, * stands for any text.'],
  },
  {
    fault: 'uses a word of test/docs/words.ts: see there what to say instead',
    breaks: (text) =>
      wordRules
        .filter(({ kinds }) => kinds?.includes('prose') ?? true)
        .some(({ pattern }) => pattern.test(text)),
    refuses: ['Served through one guarded door.', 'A limit of the house is reached.'],
    accepts: ['A limit of the project is reached.'],
  },
]

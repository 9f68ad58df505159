/** What people see of a call in words: one sentence for each, and what an approval is found by. */
import type { z } from 'zod'
import { part } from '../../core/shapes.ts'
import * as view from '../../core/view.ts'
import { isJsonNumber, writeJson, type Json, type JsonObject } from '../../core/json.ts'
import { oneLine } from '../../core/text.ts'
import { titleParts } from '../gates/index.ts'
import { shownArguments, type Approval, type Vote } from './approval.ts'
import { kindOfId, type IdKind } from '../../core/ids.ts'
import { mask } from '../../core/scrub.ts'
import { searchedWords, wordsOf } from '../../core/check.ts'
import { hasWords, textOfWords, vectorOf, vectorOfIdentifier, wordsOfName } from '../../store/db/lists.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { approvals } from '../../store/db/tables/approvals.ts'

/** A piece of the sentence; of a value that came with the call, or of words that the tool's owner chose. */
export const summaryPart = part('CallSummaryPart', 'A piece of the sentence about a call.', {
  text: view.text('The text of the piece, in one line.'),
  isValue: view.flag('Whether the piece is the value of an argument, and not words about the tool.'),
})
type CallSummaryPart = z.output<typeof summaryPart>

export const callSummary = part(
  'CallSummary',
  'One sentence about a call: the title of its gate with the values of the arguments, or the name of the tool and ' +
    'its first arguments.',
  {
    text: view.text('The whole sentence, in one line.'),
  },
)
export interface CallSummary extends z.output<typeof callSummary> {
  parts: CallSummaryPart[]
}

/** The longest value or name in a sentence, in UTF-16 code units. */
const maxValue = 80
const maxName = 200
/** The arguments of the sentence without a title. */
const maxArguments = 3

/** The approval as far as its sentence is concerned. */
export type SummarySource = Pick<
  Approval,
  'arguments' | 'editedArguments' | 'masked' | 'question' | 'runtimeName'
>

/** The sentence about the call as it would run now. Masked values are `[masked]` in it, or left out. */
export function summaryOf(approval: SummarySource): CallSummary {
  const parts = ofTitle(approval) ?? byDefault(approval)
  return { text: parts.map(({ text }) => text).join(''), parts }
}

/** Null without a title, and when an argument that it names is not given. */
function ofTitle(approval: SummarySource): CallSummaryPart[] | null {
  const template = titleParts(approval.question?.titleTemplate ?? '') ?? []
  if (template.length === 0) return null
  const values = shownArguments(approval)
  const parts = template.map((piece) => {
    if ('text' in piece) return partOfWords(piece.text)
    return Object.hasOwn(values, piece.name) ? valueOf(values[piece.name]!) : null
  })
  return parts.some((piece) => piece === null) ? null : (parts as CallSummaryPart[])
}

function byDefault(approval: SummarySource): CallSummaryPart[] {
  const { question, masked, runtimeName } = approval
  const values = shownArguments(approval)
  const hidden = new Set((masked ?? []).flatMap((path) => (path.length === 1 ? path : [])))
  const scalars = requiredFirst(values, question?.inputSchema)
    .filter((name) => !hidden.has(name) && isScalar(values[name]!))
    .slice(0, maxArguments)
  const named = scalars.flatMap((name, at) => [
    { text: `${at === 0 ? ': ' : ', '}${oneLine(name, maxValue)} `, isValue: false },
    valueOf(values[name]!),
  ])
  return [{ text: oneLine(question?.title ?? runtimeName, maxName), isValue: false }, ...named]
}

/** Required arguments in the order of the schema, then the others in theirs. */
function requiredFirst(values: JsonObject, schema: JsonObject | undefined): string[] {
  const required = Array.isArray(schema?.['required']) ? schema['required'].map(String) : []
  const first = required.filter((name) => Object.hasOwn(values, name))
  return [...new Set([...first, ...Object.keys(values)])]
}

function isScalar(value: Json): boolean {
  return typeof value !== 'object' || isJsonNumber(value)
}

function valueOf(value: Json): CallSummaryPart {
  const text = oneLine(typeof value === 'string' ? value : writeJson(value), maxValue)
  return { text: text === '' ? '""' : text, isValue: true }
}

/** The words of a template keep the spaces at their ends. */
function partOfWords(words: string): CallSummaryPart {
  const [, before, text, after] = /^(\s*)(.*?)(\s*)$/su.exec(words)!
  const space = (around: string) => (around === '' ? '' : ' ')
  return { text: `${space(before!)}${oneLine(text!, maxName)}${space(after!)}`, isValue: false }
}

/** Bounds of the brief arguments: how many, and the longest text, in UTF-16 code units. */
const maxBrief = { count: 20, text: 200 }

/** The shown arguments that a list needs to sort, group and add up approvals: numbers, truth values and short texts. */
export function briefArguments(approval: SummarySource): JsonObject {
  const isBrief = (value: Json) =>
    typeof value === 'string' ? value !== mask && value.length <= maxBrief.text : isScalar(value)
  const brief = Object.entries(shownArguments(approval)).filter(([, value]) => isBrief(value))
  return Object.fromEntries(brief.slice(0, maxBrief.count))
}

/** Bounds of what is searchable, in characters: of all values of some arguments, and of each. */
const mostOfArguments = 4000
const mostOfValue = 1000

type QuestionNames = Pick<Approval, 'runtimeName' | 'question'>

/** The words of the tool and of the arguments, which must be masked, as the text that the statements take. */
export function wordsOfQuestion({ runtimeName, question }: QuestionNames, shown: readonly Json[]): string {
  return textOfWords([...wordsOf(`${runtimeName} ${question?.title ?? ''}`), ...shown.flatMap(wordsOfValues)])
}

/** The values; the names of arguments are the same in all approvals of a tool. */
function wordsOfValues(shown: Json): string[] {
  const words: string[] = []
  let left = mostOfArguments
  const stack = [shown]
  while (stack.length > 0 && left > 0) {
    const value = stack.pop()!
    if (typeof value === 'object' && !isJsonNumber(value)) {
      if (value !== null) stack.push(...Object.values(value).slice(0, left).toReversed())
      continue
    }
    if (value === mask || typeof value === 'boolean') continue
    const begin = String(value).slice(0, Math.min(mostOfValue, left))
    left -= begin.length + 1
    words.push(...wordsOf(begin))
  }
  return words
}

function wordsOfVotes(votes: readonly Vote[]): string[] {
  return votes.flatMap(({ byName, reason, note }) => wordsOf(`${byName} ${reason ?? ''} ${note ?? ''}`))
}

/** The column of an approval that is inserted. `words` is an expression for `wordsOfQuestion`. */
export function searchOf(words: SQL, agentId: SQL): SQL {
  return vectorOf(words, agentWords(agentId))
}

/**
 * The column of the approval `p` after a vote. A plain vote adds its words; an edit writes all anew, because it may also
 * hide what was shown. Not in a table of its own: the verdict changes columns of indexes, so that the new version of the
 * row enters all of them in any case.
 */
export function searchAfter(after: Approval, isEdited: boolean): SQL {
  if (!isEdited) {
    const words = sql`${textOfWords(wordsOfVotes(after.votes.slice(-1)))}::text`
    return sql`coalesce(p.search, ${vectorOfIdentifier(sql`p.runtime_name`)}) || ${vectorOf(words)}`
  }
  const shown = [shownArguments(after), shownArguments(after, 'original')]
  const words = `${wordsOfQuestion(after, shown)} ${textOfWords(wordsOfVotes(after.votes))}`
  return vectorOf(sql`${words.trim()}::text`, agentWords(sql`p.agent_id`))
}

/** The name that the agent has now; none outside a generation. */
function agentWords(agentId: SQL): SQL {
  return sql`coalesce((select ${wordsOfName(sql`name`)} from agents where id = ${agentId}), '{}')`
}

/** The columns that have an id of this kind; each has an index. */
const columnsById: Partial<Record<IdKind, string>> = {
  approval: 'id',
  toolCall: 'tool_call_id',
  generation: 'generation_id',
  agent: 'agent_id',
  tool: 'tool_id',
  apiKey: 'requested_by',
  person: 'requested_by',
}

/**
 * The condition that an approval has all these words, the last one as a beginning, or that the text is an id of it. INVALID
 * for a text of more than 200 characters or without a letter or digit.
 */
export function searchCondition(search: string): SQL {
  const words = searchedWords(search)
  const byName = sql`(search is null and ${hasWords(vectorOfIdentifier(sql`runtime_name`), words)})`
  const wanted = search.trim()
  const column = columnsById[kindOfId(wanted) ?? 'step']
  const byId = column ? sql`or ${sql.raw(column)} = ${wanted}` : sql``
  return sql`(${hasWords(approvals.search, words)} or ${byName} ${byId})`
}

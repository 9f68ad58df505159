/**
 * The input of the rehearsal model: the current turn of a conversation as plain words, the tool that it is about, and
 * its script. Pure.
 */
import { writeJson, isJsonObject, tryParseJson, type JsonObject } from '../../../core/json.ts'
import type { ContentBlock } from '../../../core/content.ts'
import type { Message, ToolResultPart } from '../message.ts'
import type { ModelTool } from '../port.ts'

export interface Turn {
  /** The words of the last user message. */
  text: string
  /** Responses of the model in this turn so far: the position in the script. */
  answers: number
  /** Responses in the whole conversation, for unique ids. */
  answersInAll: number
  /** Tool results of this turn, oldest first. */
  results: ToolResultPart[]
}

/** The turn to which the next response belongs. Deterministic: it depends on the messages only. */
export function currentTurn(messages: Message[]): Turn {
  const start = messages.findLastIndex((message) => message.role === 'user')
  const asked = messages[start]
  const after = messages.slice(start + 1)
  return {
    text:
      asked?.role === 'user'
        ? asked.parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
        : '',
    answers: after.filter((message) => message.role === 'assistant').length,
    answersInAll: messages.filter((message) => message.role === 'assistant').length,
    results: after.flatMap((message) => (message.role === 'tool' ? message.parts : [])),
  }
}

const mostResults = 20
const quotedCharacters = 200

/** The results in a few words, one line each. */
export function summaryOf(results: ToolResultPart[]): string {
  const lines = results.slice(-mostResults).map((result) => {
    const said = result.content.map(wordsOf).join(' ').replaceAll(/\s+/g, ' ').trim()
    const words = said || writeJson(result.structuredContent ?? null)
    const short = words.length > quotedCharacters ? `${words.slice(0, quotedCharacters)}…` : words
    return `${result.name} ${result.isError ? 'failed with' : 'answered'}: ${short}`
  })
  return lines.join('\n')
}

function wordsOf(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'resource':
      return block.resource.text ?? `[${block.resource.uri}]`
    case 'resource_link':
      return `[${block.uri}]`
    default:
      return `[${block.type}]`
  }
}

/** Common words, which do not count. */
const hollow = new Set(
  'a an and any are as at be but by can could do does for from get has have how i in is it its me my need not of on or our out please some that the their them then there this to us use want was we what when where which who will with would you your call tool'.split(
    ' ',
  ),
)

/** Points that make a match; a shared word of the tool's name counts two, of its description one. */
const enough = 2

/**
 * The tool whose name (double weight) and description share the most words with the text; null when none shares
 * enough. The first wins a tie. A plural in -s is the same word.
 */
export function matchingTool(text: string, tools: ModelTool[]): ModelTool | null {
  const said = new Set(wordsIn(text))
  let best: { tool: ModelTool; score: number } | null = null
  for (const tool of tools) {
    const inName = new Set(wordsIn(tool.name))
    const inDescription = new Set(wordsIn(tool.description ?? ''))
    let score = 0
    for (const word of said) score += inName.has(word) ? 2 : inDescription.has(word) ? 1 : 0
    if (score >= enough && score > (best?.score ?? 0)) best = { tool, score }
  }
  return best?.tool ?? null
}

function wordsIn(text: string): string[] {
  const apart = text.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase()
  const words = apart.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 1 && !hollow.has(word))
  return words.map((word) => (word.length > 3 ? word.replace(/s$/, '') : word))
}

/** Parses the script of a rehearsal from a user's message. Pure. */
export interface ScriptedCall {
  name: string
  /** The argument text to send, valid JSON or not. */
  input: string
}

/** `fail CODE`: the status, the number of first attempts that fail, and the retry-after. */
export interface ScriptedFailure {
  status: number
  attempts: number
  retryAfterMs: number | null
}

/** One step of the model. */
export interface ScriptedStep {
  calls: ScriptedCall[]
  say: string[]
  think: string[]
  json: JsonObject | null
  failure: ScriptedFailure | null
  /** Milliseconds between two words, and once before the first. They apply to the following steps too. */
  betweenWordsMs: number
  beforeMs: number
  usage: { input: number; output: number } | null
}

export interface Script {
  steps: ScriptedStep[]
  /** The lines without a directive: the text to match when no step says or calls anything. */
  words: string
}

/**
 * The steps of the script in `text` (none when no line of it is a directive) and the other lines. `then` on a line
 * of its own begins the next step; `slow` and `usage` apply from their step on. - `call NAME {json}`: several lines
 * are parallel calls. Without JSON, NAME must be one of `toolNames`. - `badargs NAME`: a call whose arguments are
 * truncated. - `say TEXT`, `think TEXT`: the text of the answer, its reasoning. `json {…}`: a structured answer. -
 * `fail 429`: the first attempt fails like a provider that returns 429; `fail 429 x3`: the first three; a status that
 * is not retryable: every attempt. `fail 429 after 2s` has a retry-after. - `slow 50ms`: a pause between the words.
 * `slow 5s before`: a pause before the first. - `usage 100 20`: reported tokens, input and output.
 */
export function readScript(text: string, toolNames: string[]): Script {
  const steps = [emptyStep()]
  const words: string[] = []
  let directives = 0
  for (const line of text.split('\n')) {
    const step = steps.at(-1)!
    if (line.trim() === 'then') {
      steps.push({ ...emptyStep(), betweenWordsMs: step.betweenWordsMs, usage: step.usage })
      directives++
    } else if (readLine(line.trim(), step, toolNames)) directives++
    else words.push(line)
  }
  return { steps: directives === 0 ? [] : steps, words: words.join('\n').trim() }
}

function emptyStep(): ScriptedStep {
  return {
    calls: [],
    say: [],
    think: [],
    json: null,
    failure: null,
    betweenWordsMs: 0,
    beforeMs: 0,
    usage: null,
  }
}

type Reader = (match: string[], step: ScriptedStep, toolNames: string[]) => boolean | void

const name = '([a-zA-Z_][a-zA-Z0-9_-]{0,63})'
const span = '(\\d+(?:\\.\\d+)?)(ms|s|m)'

const readers: [RegExp, Reader][] = [
  [
    new RegExp(`^call ${name}(?:\\s+(\\{.*))?$`),
    ([, tool, input], step, toolNames) => {
      if (input === undefined && !toolNames.includes(tool!)) return false
      step.calls.push({ name: tool!, input: input ?? '{}' })
      return true
    },
  ],
  [
    new RegExp(`^badargs ${name}$`),
    ([, tool], step) => void step.calls.push({ name: tool!, input: '{"broken": ' }),
  ],
  [/^say (.+)$/, ([, words], step) => void step.say.push(words!)],
  [/^think (.+)$/, ([, words], step) => void step.think.push(words!)],
  [/^json (\{.*)$/, ([, json], step) => readJson(json!, step)],
  [
    new RegExp(`^fail (\\d{3})(?: x(\\d{1,3}))?(?: after ${span})?$`),
    (match, step) => readFailure(match, step),
  ],
  [new RegExp(`^slow ${span}( before)?$`), (match, step) => readPause(match, step)],
  [
    /^usage (\d{1,9}) (\d{1,9})$/,
    ([, input, output], step) => void (step.usage = { input: Number(input), output: Number(output) }),
  ],
]

function readLine(line: string, step: ScriptedStep, toolNames: string[]): boolean {
  for (const [pattern, read] of readers) {
    const match = pattern.exec(line)
    if (match) return read(match, step, toolNames) !== false
  }
  return false
}

function readJson(text: string, step: ScriptedStep): boolean {
  const value = tryParseJson(text)
  if (!isJsonObject(value)) return false
  step.json = value
  return true
}

function readFailure([, code, times, amount, unit]: string[], step: ScriptedStep): void {
  const status = Number(code)
  const passing = [408, 409, 429].includes(status) || status >= 500
  step.failure = {
    status,
    attempts: passing ? Number(times ?? 1) : Infinity,
    retryAfterMs: amount === undefined ? null : milliseconds(amount, unit!),
  }
}

function readPause([, amount, unit, before]: string[], step: ScriptedStep): void {
  const pause = milliseconds(amount!, unit!)
  if (before) step.beforeMs = pause
  else step.betweenWordsMs = pause
}

/** The longest timer of Node. */
const longestPauseMs = 2 ** 31 - 1
const unitMs: Record<string, number> = { ms: 1, s: 1_000, m: 60_000 }

function milliseconds(amount: string, unit: string): number {
  return Math.min(Number(amount) * unitMs[unit]!, longestPauseMs)
}

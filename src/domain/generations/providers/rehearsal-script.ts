/** Parses the script of a rehearsal from a user's message. Pure. */
import { isJsonObject, tryParseJson, type JsonObject } from '../../../core/json.ts'

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
export interface Stage {
  calls: ScriptedCall[]
  say: string[]
  think: string[]
  json: JsonObject | null
  failure: ScriptedFailure | null
  /** Milliseconds between two words, and once before the first. They apply to the following stages too. */
  betweenWordsMs: number
  beforeMs: number
  usage: { input: number; output: number } | null
}

export interface Script {
  stages: Stage[]
  /** The lines without a directive: the text to match when no stage says or calls anything. */
  words: string
}

/**
 * The stages of the script in `text` (none when no line of it is a directive) and the other lines. `then` on a line
 * of its own begins the next stage; `slow` and `usage` apply from their stage on. - `call NAME {json}`: several lines
 * are parallel calls. Without JSON, NAME must be one of `toolNames`. - `badargs NAME`: a call whose arguments are
 * truncated. - `say TEXT`, `think TEXT`: the text of the answer, its reasoning. `json {…}`: a structured answer. -
 * `fail 429`: the first attempt fails like a provider that returns 429; `fail 429 x3`: the first three; a status that
 * is not retryable: every attempt. `fail 429 after 2s` has a retry-after. - `slow 50ms`: a pause between the words.
 * `slow 5s before`: a pause before the first. - `usage 100 20`: reported tokens, input and output.
 */
export function readScript(text: string, toolNames: string[]): Script {
  const stages = [emptyStage()]
  const words: string[] = []
  let directives = 0
  for (const line of text.split('\n')) {
    const stage = stages.at(-1)!
    if (line.trim() === 'then') {
      stages.push({ ...emptyStage(), betweenWordsMs: stage.betweenWordsMs, usage: stage.usage })
      directives++
    } else if (readLine(line.trim(), stage, toolNames)) directives++
    else words.push(line)
  }
  return { stages: directives === 0 ? [] : stages, words: words.join('\n').trim() }
}

function emptyStage(): Stage {
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

type Reader = (match: string[], stage: Stage, toolNames: string[]) => boolean | void

const name = '([a-zA-Z_][a-zA-Z0-9_-]{0,63})'
const span = '(\\d+(?:\\.\\d+)?)(ms|s|m)'

const readers: [RegExp, Reader][] = [
  [
    new RegExp(`^call ${name}(?:\\s+(\\{.*))?$`),
    ([, tool, input], stage, toolNames) => {
      if (input === undefined && !toolNames.includes(tool!)) return false
      stage.calls.push({ name: tool!, input: input ?? '{}' })
      return true
    },
  ],
  [
    new RegExp(`^badargs ${name}$`),
    ([, tool], stage) => void stage.calls.push({ name: tool!, input: '{"broken": ' }),
  ],
  [/^say (.+)$/, ([, words], stage) => void stage.say.push(words!)],
  [/^think (.+)$/, ([, words], stage) => void stage.think.push(words!)],
  [/^json (\{.*)$/, ([, json], stage) => readJson(json!, stage)],
  [
    new RegExp(`^fail (\\d{3})(?: x(\\d{1,3}))?(?: after ${span})?$`),
    (match, stage) => readFailure(match, stage),
  ],
  [new RegExp(`^slow ${span}( before)?$`), (match, stage) => readPause(match, stage)],
  [
    /^usage (\d{1,9}) (\d{1,9})$/,
    ([, input, output], stage) => void (stage.usage = { input: Number(input), output: Number(output) }),
  ],
]

function readLine(line: string, stage: Stage, toolNames: string[]): boolean {
  for (const [pattern, read] of readers) {
    const match = pattern.exec(line)
    if (match) return read(match, stage, toolNames) !== false
  }
  return false
}

function readJson(text: string, stage: Stage): boolean {
  const value = tryParseJson(text)
  if (!isJsonObject(value)) return false
  stage.json = value
  return true
}

function readFailure([, code, times, amount, unit]: string[], stage: Stage): void {
  const status = Number(code)
  const passing = [408, 409, 429].includes(status) || status >= 500
  stage.failure = {
    status,
    attempts: passing ? Number(times ?? 1) : Infinity,
    retryAfterMs: amount === undefined ? null : milliseconds(amount, unit!),
  }
}

function readPause([, amount, unit, before]: string[], stage: Stage): void {
  const pause = milliseconds(amount!, unit!)
  if (before) stage.beforeMs = pause
  else stage.betweenWordsMs = pause
}

/** The longest timer of Node. */
const longestPauseMs = 2 ** 31 - 1
const unitMs: Record<string, number> = { ms: 1, s: 1_000, m: 60_000 }

function milliseconds(amount: string, unit: string): number {
  return Math.min(Number(amount) * unitMs[unit]!, longestPauseMs)
}

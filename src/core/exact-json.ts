/**
 * JSON read and written without changing a value: digits that a double would lose are kept, and text that no database can
 * store is canonical from the first moment. The server, the client and the dashboard use this file; it imports nothing.
 * docs/decisions/0074 has the reasons.
 */

/** The most digits of a number that are kept, before and behind the point together; and characters of a number as written. */
const maxDigits = 400
const maxToken = 1000

/** A number that no double has: plain decimal digits, one text for each value. Only `exactNumber` creates one. */
export class ExactNumber {
  readonly digits: string

  constructor(digits: string) {
    this.digits = digits
  }

  toString(): string {
    return this.digits
  }

  /** The digits as a text: what a serializer makes of it that does not know exact numbers. */
  toJSON(): string {
    return isWriting ? mark(this.digits) : this.digits
  }
}

/** Whether a value of JSON is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  )
}

/** Whether a value of JSON is a number, of whatever digits. */
export function isJsonNumber(value: unknown): value is number | ExactNumber {
  return typeof value === 'number' || value instanceof ExactNumber
}

/**
 * The value of a number as JSON writes it: a double when it has exactly this value, else an ExactNumber. Null when it is
 * beyond the range of doubles, where readers take it for infinity or zero, or has more than 400 digits.
 */
export function exactNumber(token: string): number | ExactNumber | null {
  const value = Number(token)
  const digits = token.length > maxToken ? null : plainDigits(token)
  if (digits === null || !Number.isFinite(value) || (value === 0 && digits !== '0')) return null
  return plainDigits(String(value)) === digits ? value + 0 : new ExactNumber(digits)
}

/** The digits without an exponent and without zeros that say nothing; null for more than are kept. */
function plainDigits(token: string): string | null {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = numberParts.exec(token) ?? []
  const shift = Number(exponent)
  const all = (whole + fraction).replace(/^0+/, '')
  const significant = all.replace(/0+$/, '')
  if (significant === '') return '0'
  if (significant.length > maxDigits || Math.abs(shift) > 10_000) return null
  // How many digits of `significant` stand before the point.
  const before = all.length - fraction.length + shift
  if (Math.abs(before) > maxDigits) return null
  if (before <= 0) return `${sign}0.${'0'.repeat(-before)}${significant}`
  if (before >= significant.length) return sign + significant.padEnd(before, '0')
  return `${sign}${significant.slice(0, before)}.${significant.slice(before)}`
}

const numberParts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** A number in a text of JSON that cannot be kept as it is. `path` leads to it. */
export class NumberRangeError extends SyntaxError {
  readonly path: readonly string[]
  /** The number as it is written, cut. */
  readonly token: string

  constructor(path: readonly string[], token: string) {
    const shown = token.length > 40 ? `${token.slice(0, 40)}…` : token
    super(`${shown} cannot be kept exactly: send it as a text`)
    this.path = path
    this.token = shown
  }
}

/**
 * The value of a text of JSON. Every number has exactly its value, or the text is refused. NUL and halves of surrogate
 * pairs in texts and keys are U+FFFD. Of equal keys the last one counts. Throws a SyntaxError, and a NumberRangeError for a
 * number beyond what is kept.
 */
export function readJson(text: string): unknown {
  return read(text, (path, token) => {
    throw new NumberRangeError(path, token)
  })
}

/** The same for what others have answered and cannot send again: a number beyond what is kept becomes its text. */
export function readForeignJson(text: string): unknown {
  return read(text, (_path, token) => token)
}

function read(text: string, beyond: Beyond): unknown {
  if (!needsCare.test(text)) return JSON.parse(text) as unknown
  return unpackValue(JSON.parse(packText(text)), beyond)
}

type Beyond = (path: readonly string[], token: string) => unknown

/** The JSON of a value, with the digits of exact numbers; undefined where JSON has none, as of a function. */
export function writeJson(value: unknown, space?: number | string): string {
  const outer = isWriting
  isWriting = true
  const before = marked
  try {
    const text = JSON.stringify(value, null, space)
    return marked === before ? text : unpackText(text)
  } finally {
    isWriting = outer
  }
}

/**
 * Whether a text of JSON may have a number that a double loses, or text that is not canonical: 16 digits or an exponent of
 * three in a row, or an escape of NUL or of a surrogate.
 */
const needsCare = /[\d.]{16}|\d[eE][+-]?\d{3}|\\u(?:0000|[dD][89a-fA-F])/

/*
 * What parsers and serializers of packages would lose passes through them as texts that nobody outside can write, for they
 * begin with a mark that is drawn at random for each process: numbers that no double has, and members named "__proto__".
 */

const secret = Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join('')
const begin = `gatehouse-${secret}:`
const markedNumber = new RegExp(`\\\\*"${begin}(-?\\d[\\d.eE+-]*)\\\\*"`, 'g')
const proto = '__proto__'
const markedProto = begin + proto
let isWriting = false
let marked = 0

function mark(token: string): string {
  marked += 1
  return begin + token
}

/**
 * A text of JSON for a parser that is not ours: `unpackValue` makes the value of what that reads. With `keepsText` only numbers
 * are packed: a stream of pieces may have the halves of one character in two of them.
 */
export function packText(text: string, keepsText = false): string {
  if (!needsCare.test(text) && !text.includes(proto)) return text
  const parts: string[] = []
  let at = 0
  while (at < text.length) {
    const quote = text.indexOf('"', at)
    const outside = text.slice(at, quote < 0 ? undefined : quote)
    parts.push(outside.length < 5 ? outside : outside.replace(numberToken, packToken))
    if (quote < 0) break
    at = endOfString(text, quote)
    const inside = text.slice(quote, at)
    if (inside === `"${proto}"`) parts.push(`"${markedProto}"`)
    else parts.push(inside.includes('\\u') && !keepsText ? inside.replace(escape, canonicalEscape) : inside)
  }
  return parts.join('')
}

const numberToken = /-?\d[\d.eE+-]*/g
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

function packToken(token: string): string {
  // What is no number of JSON stays, for the parser to refuse.
  return !jsonNumber.test(token) || typeof exactNumber(token) === 'number' ? token : `"${mark(token)}"`
}

/** The place behind the string that begins at a quotation mark; the end of the text when it has no end. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0
    while (text[quote - 1 - slashes] === '\\') slashes += 1
    if (slashes % 2 === 0) return quote + 1
  }
  return text.length
}

/** Escapes in a string: of a backslash, of a whole pair of surrogates, and those that are replaced. */
const escape =
  /\\(?:\\|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u0000|u[dD][89a-fA-F][\da-fA-F]{2})/g

function canonicalEscape(found: string): string {
  return found === '\\\\' || found.length > 6 ? found : '\\ufffd'
}

/**
 * Puts back what was packed into a text of JSON that a serializer made of a `packValue` value, also in JSON that is inside its
 * strings.
 */
export function unpackText(text: string): string {
  return text.includes(begin) ? text.replace(markedNumber, '$1').replaceAll(begin, '') : text
}

/** The value for a serializer that is not ours, whose text `unpackText` completes; the same one when nothing would be lost. */
export function packValue<Value>(value: Value): Value {
  return has(value, proto) ? (mapped(value, mark) as Value) : value
}

/** Whether there is a number that no double has anywhere in a value of JSON. */
export function hasExactNumbers(value: unknown): boolean {
  return has(value, null)
}

function has(root: unknown, name: string | null): boolean {
  if (typeof root !== 'object') return false
  const open: unknown[] = [root]
  while (open.length > 0) {
    const value = open.pop()
    if (value instanceof ExactNumber) return true
    if (typeof value !== 'object' || value === null) continue
    if (Array.isArray(value)) for (const one of value) open.push(one)
    else
      for (const key of Object.keys(value)) {
        if (key === name) return true
        open.push((value as Record<string, unknown>)[key])
      }
  }
  return false
}

/** A copy of a value of JSON that shares nothing that can be changed. */
export function copyJson<Value>(value: Value): Value {
  return mapped(value, null) as Value
}

function mapped(value: unknown, pack: ((token: string) => string) | null): unknown {
  if (value instanceof ExactNumber) return pack ? pack(value.digits) : value
  if (Array.isArray(value)) return value.map((one) => mapped(one, pack))
  if (typeof value !== 'object' || value === null) return value
  // fromEntries defines members, so that "__proto__" stays one.
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [pack && key === proto ? pack(key) : key, mapped(one, pack)]),
  )
}

/**
 * Puts back what was packed into a value that a parser made of a packed text, in place. `beyond` returns what stands for a
 * number beyond what is kept; without it, that is its text.
 */
export function unpackValue(root: unknown, beyond: Beyond = (_path, token) => token): unknown {
  const holder: Record<string, unknown> = { root }
  const open: { at: Record<string, unknown>; path: readonly string[] }[] = [{ at: holder, path: [] }]
  for (let next = open.pop(); next; next = open.pop()) {
    const { at, path } = next
    const keys = Object.keys(at)
    if (keys.includes(markedProto)) return unpackValue(withProto(root), beyond)
    for (const key of keys) {
      const one = at[key]
      const own = at === holder ? path : [...path, key]
      if (typeof one === 'string' && one.startsWith(begin)) at[key] = unmarked(one, own, beyond)
      else if (typeof one === 'object' && one !== null)
        open.push({ at: one as Record<string, unknown>, path: own })
    }
  }
  return holder['root']
}

function unmarked(text: string, path: readonly string[], beyond: Beyond): unknown {
  const token = text.slice(begin.length)
  return token === proto ? proto : (exactNumber(token) ?? beyond(path, token))
}

/** A copy in which members have their names again. */
function withProto(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withProto)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key === markedProto ? proto : key, withProto(one)]),
  )
}

/** What a client of GraphQL over WebSocket uses of a socket. */
interface MessageSocket {
  onmessage: ((event: { data: unknown }) => unknown) | null
  send(data: string): void
}

/**
 * The class of sockets for graphql-ws, which parses and serializes natively: messages come in packed, for `unpackValue`, and
 * variables that are `packValue` go out with all digits.
 */
export function exactSocket<Base extends new (...given: never[]) => object>(base: Base): Base {
  const plain = base as unknown as new (...given: unknown[]) => MessageSocket
  return class extends plain {
    override set onmessage(hear: MessageSocket['onmessage']) {
      super.onmessage =
        hear && (({ data }) => hear({ data: typeof data === 'string' ? packText(data) : data }))
    }

    override send(data: string): void {
      super.send(unpackText(data))
    }
  } as unknown as Base
}

/**
 * JSON values: read and written, their types, a canonical form for hashing, differences, and limits for untrusted
 * documents. Nothing else in src reads JSON.
 */
import { createHash } from 'node:crypto'
import { ExactNumber, isObject, readForeignJson, readJson, writeJson, packText } from './exact-json.ts'
export {
  copyJson,
  exactNumber,
  ExactNumber,
  hasExactNumbers,
  isJsonNumber,
  NumberRangeError,
  packValue,
  packText,
  readForeignJson,
  readJson,
  unpackValue,
  unpackText,
  writeJson,
} from './exact-json.ts'

export type Json = null | boolean | number | string | ExactNumber | Json[] | JsonObject
export type JsonObject = { [key: string]: Json }

export const isJsonObject = isObject as (value: unknown) => value is JsonObject

/** The same text for equal values: keys sorted at every level, `undefined` members dropped. */
export function canonicalJson(value: unknown): string {
  return writeJson(sorted(value)) ?? 'null'
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isJsonObject(value)) return value
  const out: Record<string, unknown> = {}
  // JSON has own members only; defineProperty makes "__proto__" an own member.
  for (const key of Object.keys(value).toSorted())
    Object.defineProperty(out, key, { value: sorted(value[key]), enumerable: true })
  return out
}

/** SHA-256 of the canonical form, base64url. Equal values have equal hashes, whatever the order of their keys. */
export function hashJson(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('base64url')
}

export interface JsonLimits {
  maxBytes: number
  maxDepth: number
  /** Objects at every level, the outermost included. */
  maxObjects?: number
}

/**
 * Calls `visit` for a value and for everything in it, with its depth (1 for the value itself) and, for a member of an
 * object, its key. Stops when `visit` returns false. Iterative: a document nested a million deep does not overflow the
 * stack.
 */
export function walkJson(
  root: unknown,
  visit: (value: unknown, depth: number, key: string | null) => boolean,
): void {
  const values: unknown[] = [root]
  const keys: (string | null)[] = [null]
  const depths: number[] = [1]
  while (values.length > 0) {
    const value = values.pop()
    const depth = depths.pop()!
    if (!visit(value, depth, keys.pop()!)) return
    const push = (item: unknown, key: string | null) => {
      values.push(item)
      keys.push(key)
      depths.push(depth + 1)
    }
    if (Array.isArray(value)) for (const item of value) push(item, null)
    else if (isJsonObject(value)) for (const key of Object.keys(value)) push(value[key], key)
  }
}

/** Why a value exceeds the limits, or null. Bytes are those of the JSON text, about. */
export function jsonTooBig(value: unknown, limits: JsonLimits): string | null {
  const { maxBytes, maxDepth, maxObjects = Infinity } = limits
  let fault: string | null = null
  let bytes = 0
  let objects = 0
  walkJson(value, (one, depth, key) => {
    if (key !== null) bytes += Buffer.byteLength(key) + 4
    if (typeof one === 'string') bytes += Buffer.byteLength(one) + 2
    else if (one instanceof ExactNumber) bytes += one.digits.length
    else if (isJsonObject(one)) objects += 1
    else if (!Array.isArray(one)) bytes += 5
    if (depth > maxDepth) fault = `is nested deeper than ${maxDepth} levels`
    else if (objects > maxObjects) fault = `has more than ${maxObjects} objects in it`
    else if (bytes > maxBytes) fault = `is larger than ${maxBytes} bytes`
    return fault === null
  })
  return fault
}

/** The most values that one request body may consist of: parsing and walking more takes too long. */
export const maxJsonValues = 100_000

/** Whether a JSON text consists of more than `most` values, found before it is parsed. About 2 ms for 1 MiB. */
export function hasManyValues(bytes: Uint8Array, most = maxJsonValues): boolean {
  // Every value takes at least one byte.
  if (bytes.length < most) return false
  let count = 1
  let inText = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (inText) {
      if (byte === backslash) i++
      else if (byte === quote) inText = false
    } else if (byte === quote) inText = true
    // The opening bracket counts for the first entry of a list or object, and a comma for each further one.
    else if (byte === comma || byte === openList || byte === openObject) count++
  }
  return count > most
}

const [quote, backslash, comma, openList, openObject, closeList, closeObject, newline] =
  Buffer.from('"\\,[{]}\n')

/**
 * Levels of JSON that are read: more could overflow the stack of recursive code, which V8, PostgreSQL and libraries have.
 * Each operation of the domain has its own, lower limit.
 */
export const maxJsonDepth = 500

/**
 * Returns a function that reads a JSON text in parts, and returns true when it has become nested deeper than is read. In
 * server-sent events an empty line begins a new value.
 */
export function depthWatch(isStream = false): (part: Uint8Array) => boolean {
  let depth = 0
  let inText = false
  let isEscaped = false
  let lastByte: number | undefined
  return (part) => {
    for (let i = 0; i < part.length; i++) {
      const byte = part[i]
      if (byte === newline) {
        // No text of JSON contains one.
        inText = isEscaped = false
        if (isStream && lastByte === newline) depth = 0
      }
      if (byte !== carriageReturn) lastByte = byte
      if (isEscaped) isEscaped = false
      else if (inText) {
        if (byte === backslash) isEscaped = true
        else if (byte === quote) inText = false
      } else if (byte === quote) inText = true
      else if (byte === openList || byte === openObject) {
        if (++depth > maxJsonDepth) return true
      } else if (byte === closeList || byte === closeObject) depth--
    }
    return false
  }
}

const carriageReturn = 13

/** Whether a JSON text is nested deeper than is read, found before it is parsed. */
export function isNestedTooDeep(text: Uint8Array | string): boolean {
  if (text.length <= maxJsonDepth) return false
  return depthWatch()(typeof text === 'string' ? Buffer.from(text) : text)
}

/** Any untrusted value as text. `String` would call a `toString` member of the value. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : (writeJson(value) ?? 'undefined')
}

/** An untrusted value, if it is a text that is not empty. */
export function textIfAny(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/**
 * The value of a text that somebody can send again. Undefined when it is not JSON, is nested deeper than is read, or has a
 * number that cannot be kept exactly.
 */
export function tryParseJson(text: string): Json | undefined {
  return tried(text, readJson)
}

/**
 * The value of an answer. Undefined when it is not JSON, or nested deeper than is read. NaN and Infinity, which Python writes,
 * are texts, as every number that cannot be kept.
 */
export function tryParseForeignJson(text: string): Json | undefined {
  const value = tried(text, readForeignJson)
  if (value !== undefined || !/NaN|Infinity/.test(text)) return value
  const named = text.replaceAll(stringOrName, (found) => (found.startsWith('"') ? found : `"${found}"`))
  return named === text ? undefined : tried(named, readForeignJson)
}

/** A whole string, or a number of JavaScript that JSON has not. */
const stringOrName = /"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g

function tried(text: string, read: (text: string) => unknown): Json | undefined {
  if (isNestedTooDeep(text)) return undefined
  try {
    return read(text) as Json
  } catch {
    return undefined
  }
}

/**
 * Text cut to at most `maxBytes` of UTF-8, never inside a character: three quarters from the head, a marker with the
 * total, one quarter from the tail.
 */
export function cutText(text: string, maxBytes: number, note = ''): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return text
  const marker = `\n[… cut: ${bytes.length} bytes in total${note} …]\n`
  const keptBytes = Math.max(0, maxBytes - Buffer.byteLength(marker))
  const headEnd = characterStart(bytes, Math.floor(keptBytes * 0.75))
  const tailStart = characterStart(bytes, bytes.length - (keptBytes - headEnd), 1)
  return bytes.subarray(0, headEnd).toString() + marker + bytes.subarray(tailStart).toString()
}

function characterStart(bytes: Buffer, at: number, step = -1): number {
  let place = at
  while (place > 0 && place < bytes.length && (bytes[place]! & 0xc0) === 0x80) place += step
  return place
}

/** The value at a path of own members; undefined where there is none. "constructor" and "__proto__" are names like any other. */
export function valueAt(root: Json, path: readonly string[]): Json | undefined {
  let at: Json = root
  for (const key of path) {
    if (!hasMember(at, key)) return undefined
    at = at[key]!
  }
  return at
}

/** Whether an object has a member of its own, or a list an entry, with this name. An exact number has none. */
export function hasMember(value: Json | undefined, key: string): value is JsonObject {
  const mayHave = isJsonObject(value) || Array.isArray(value)
  // Unlike hasOwn false for the length of a list.
  return mayHave && Object.prototype.propertyIsEnumerable.call(value, key)
}

/** The JSON Pointer (RFC 6901) of a path. */
export function pointerOf(path: readonly string[]): string {
  return path.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** A place whose value differs; a side is undefined where the place does not exist. */
export interface JsonChange {
  /** A JSON Pointer (RFC 6901); empty for the whole value. */
  path: string
  before: Json | undefined
  after: Json | undefined
}

/** The places that differ, the deepest ones, in the order of the later value; at most `max`. */
export function changesBetween(before: Json, after: Json, max: number): JsonChange[] {
  const found: JsonChange[] = []
  const walk = (path: readonly string[], from: Json | undefined, to: Json | undefined): void => {
    if (found.length >= max || from === to || isSameNumber(from, to)) return
    const keys = keysOf(from, to)
    if (keys === null) found.push({ path: pointerOf(path), before: from, after: to })
    else for (const key of keys) walk([...path, key], memberOf(from, key), memberOf(to, key))
  }
  walk([], before, after)
  return found
}

function isSameNumber(a: Json | undefined, b: Json | undefined): boolean {
  return a instanceof ExactNumber && b instanceof ExactNumber && a.digits === b.digits
}

/** The members of two objects or two lists; null when the values are not both of one of these. */
function keysOf(from: Json | undefined, to: Json | undefined): string[] | null {
  if (Array.isArray(from) && Array.isArray(to))
    return Array.from({ length: Math.max(from.length, to.length) }, (_, i) => String(i))
  if (isJsonObject(from) && isJsonObject(to)) return [...new Set([...Object.keys(to), ...Object.keys(from)])]
  return null
}

function memberOf(value: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(value)) return value[Number(key)]
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

/**
 * A body of JSON, or of server-sent events whose data is JSON, with its numbers packed: `unpacked` makes the values of what a
 * parser reads from it. What is complete passes at once: JSON has no end of a line inside a number or a string. With
 * `keepsText` texts stay as they are, for events that carry pieces of them. `change` is called with each line of data.
 */
export function packingStream({
  isEvents,
  keepsText = false,
  change = (line) => line,
}: {
  isEvents: boolean
  keepsText?: boolean
  change?: (line: string) => string
}): TransformStream<Uint8Array, Uint8Array> {
  const pack = (bytes: Buffer): Buffer => {
    const text = bytes.toString()
    const written = isEvents ? packEvents(text, keepsText, change) : packText(text, keepsText)
    return written === text ? bytes : Buffer.from(written)
  }
  let rest: Buffer[] = []
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      const end = Math.max(bytes.lastIndexOf(lineFeed), bytes.lastIndexOf(carriageReturn)) + 1
      if (end === 0) return void rest.push(bytes)
      controller.enqueue(pack(Buffer.concat([...rest, bytes.subarray(0, end)])))
      rest = end < bytes.length ? [bytes.subarray(end)] : []
    },
    flush(controller) {
      if (rest.length > 0) controller.enqueue(pack(Buffer.concat(rest)))
    },
  })
}

const lineFeed = 10

function packEvents(text: string, keepsText: boolean, change: (line: string) => string): string {
  // An id may be a number that is not JSON.
  return text
    .split(/(?<=[\n\r])/)
    .map((line) => (line.startsWith('data:') ? change(packText(line, keepsText)) : line))
    .join('')
}

/** JSON values: types, a canonical form for hashing, and measures that keep strangers' documents small. */
import { createHash } from 'node:crypto'

export type Json = null | boolean | number | string | Json[] | JsonObject
export type JsonObject = { [key: string]: Json }

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The same text for equal values: keys sorted at every level, `undefined` members dropped. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value)) ?? 'null'
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isJsonObject(value)) return value
  const out: Record<string, unknown> = {}
  // A null prototype is not needed: JSON.stringify reads own members only, and defineProperty keeps "__proto__" one.
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
 * Why a value is too big to take, or null. Walks iteratively: a document nested a million deep is refused, not a
 * stack overflow.
 */
export function jsonTooBig(value: unknown, limits: JsonLimits): string | null {
  const stack: { value: unknown; depth: number }[] = [{ value, depth: 1 }]
  let bytes = 0
  let objects = 0
  while (stack.length > 0) {
    const top = stack.pop()!
    if (top.depth > limits.maxDepth) return `is nested deeper than ${limits.maxDepth} levels`
    if (typeof top.value === 'string') bytes += Buffer.byteLength(top.value) + 2
    else if (Array.isArray(top.value))
      for (const item of top.value) stack.push({ value: item, depth: top.depth + 1 })
    else if (isJsonObject(top.value)) {
      if (++objects > (limits.maxObjects ?? Infinity))
        return `has more than ${limits.maxObjects} objects in it`
      for (const [key, item] of Object.entries(top.value)) {
        bytes += Buffer.byteLength(key) + 4
        stack.push({ value: item, depth: top.depth + 1 })
      }
    } else bytes += 5
    if (bytes > limits.maxBytes) return `is larger than ${limits.maxBytes} bytes`
  }
  return null
}

/** Values that one body may consist of: parsing and walking more takes too long, however small they are. */
export const maxJsonValues = 100_000

/** Whether a JSON text consists of more than `most` values, told before it is parsed. About 2 ms for 1 MiB. */
export function hasManyValues(bytes: Uint8Array, most = maxJsonValues): boolean {
  // So many values need as many characters and separators.
  if (bytes.length < most) return false
  let count = 1
  let inText = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (inText) {
      if (byte === backslash) i++
      else if (byte === quote) inText = false
    } else if (byte === quote) inText = true
    // A list or object is counted with its first entry, and every further entry with its comma.
    else if (byte === comma || byte === openList || byte === openObject) count++
  }
  return count > most
}

const [quote, backslash, comma, openList, openObject] = Buffer.from('"\\,[{')

/** A stranger's value as text, whatever it is. `String` would call what one of its members says. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined')
}

/** Parsed JSON, or undefined when the text is not JSON. */
export function tryParseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
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
  const room = Math.max(0, maxBytes - Buffer.byteLength(marker))
  const headEnd = characterStart(bytes, Math.floor(room * 0.75))
  const tailStart = characterStart(bytes, bytes.length - (room - headEnd), 1)
  return bytes.subarray(0, headEnd).toString() + marker + bytes.subarray(tailStart).toString()
}

function characterStart(bytes: Buffer, at: number, step = -1): number {
  let place = at
  while (place > 0 && place < bytes.length && (bytes[place]! & 0xc0) === 0x80) place += step
  return place
}

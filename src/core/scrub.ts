/**
 * Removes hidden values from results and texts: a server that received a secret may echo it, on purpose or in an error
 * message.
 */
import type { ContentBlock, ToolResult } from './content.ts'
import {
  copyJson,
  hasMember,
  isJsonNumber,
  isJsonObject,
  type Json,
  type JsonObject,
  valueAt,
  writeJson,
} from './json.ts'

/** The text that replaces a hidden value. */
export const mask = '[masked]'

/** Returns a copy with the values at these paths masked. */
export function maskAt<T extends Json>(value: T, paths: readonly string[][] | null): T {
  if (!paths || paths.length === 0) return value
  const copy = copyJson(value)
  for (const path of paths) {
    // Paths of other arguments may lead nowhere here, never to what an object inherits.
    const at = valueAt(copy, path.slice(0, -1))
    const last = path.at(-1)!
    if (hasMember(at, last))
      Object.defineProperty(at, last, { value: mask, enumerable: true, configurable: true, writable: true })
  }
  return copy
}

/** Shorter values are not removed: they would match everywhere. Characters. */
const shortest = 4

/** Members that hold bytes in base64, not text. */
const bytes = new Set(['data', 'blob'])

/**
 * Returns a function that copies a JSON value and replaces every occurrence of these values: plain, URL-encoded, as a
 * JSON string or in base64, in texts, in names of members and as numbers. Members of objects and lists count one by
 * one; values with fewer than four characters are kept. Null when there is nothing to hide.
 */
export function scrubber(values: readonly Json[]): (<T>(value: T) => T) | null {
  const texts = [...new Set(leavesOf(values))].filter((text) => text.length >= shortest)
  if (texts.length === 0) return null
  const spellings = [...new Set(texts.flatMap(spellingsOf))].toSorted((a, b) => b.length - a.length)
  const clean = (text: string) =>
    spellings.reduce((left, one) => (left.includes(one) ? left.replaceAll(one, mask) : left), text)
  const numbers = new Set(texts)
  const scrub = (value: unknown): unknown => {
    if (typeof value === 'string') return clean(value)
    if (isJsonNumber(value)) return numbers.has(String(value)) ? mask : value
    if (Array.isArray(value)) return value.map(scrub)
    if (!isJsonObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [clean(key), isBytes(value, key) ? item : scrub(item)]),
    )
  }
  return <T>(value: T) => scrub(value) as T
}

/** A tool result cleaned with `clean`, in which the type of each block is kept. Null keeps the result unchanged. */
export function cleanResult(result: ToolResult, clean: (<T>(value: T) => T) | null): ToolResult {
  if (!clean) return result
  const { content, isError, ...more } = result
  const blocks = content.map((block) => ({ ...clean(block), type: block.type }) as ContentBlock)
  return { content: blocks, isError, ...clean(more) }
}

function isBytes(holder: JsonObject, key: string): boolean {
  return bytes.has(key) && typeof holder['mimeType'] === 'string'
}

function leavesOf(values: readonly Json[]): string[] {
  const leaves: string[] = []
  const rest: Json[] = [...values]
  while (rest.length > 0) {
    const one = rest.pop()!
    if (typeof one === 'string') leaves.push(one)
    else if (isJsonNumber(one)) leaves.push(String(one))
    else if (typeof one === 'object' && one !== null) for (const item of Object.values(one)) rest.push(item)
  }
  return leaves
}

function spellingsOf(text: string): string[] {
  const base64 = Buffer.from(text).toString('base64')
  return [
    text,
    encodeURIComponent(Buffer.from(text).toString()),
    writeJson(text).slice(1, -1),
    base64,
    base64.replace(/=+$/, ''),
    Buffer.from(text).toString('base64url'),
  ]
}

/** More or longer values are not looked for: a text that may have them is hidden. */
const limits = { values: 100, characters: 2_000 }

/**
 * Returns a function that replaces these values in a text. It hides the whole text where it cannot tell what to replace:
 * for values that are short, many or neither text nor number, for a value that is spelled with other spaces, punctuation
 * or case, and for a text that was cut (`isCut`) and has one of the values, because another may be half of it.
 */
export function valueHider(values: readonly Json[]): (text: string, isCut: boolean) => string {
  const leaves = textLeavesOf(values)
  if (leaves === null) return () => mask
  const scrub = scrubber(leaves)
  if (!scrub) return (text) => text
  const loosely = [...new Set(leaves.map(loose))]
  const isLong = leaves.some((leaf) => leaf.length > limits.characters)
  return (text, isCut) => {
    const clean = scrub(text)
    const rest = loose(clean.replaceAll(mask, ''))
    if (loosely.some((leaf) => rest.includes(leaf))) return mask
    return isCut && (isLong || clean !== text) ? mask : clean
  }
}

/** The values as texts; null when one of them cannot be looked for. */
function textLeavesOf(values: readonly Json[]): string[] | null {
  const leaves = new Set<string>()
  const rest: Json[] = [...values]
  while (rest.length > 0) {
    const one = rest.pop()!
    if (one === null || one === '') continue
    if (Array.isArray(one) || isJsonObject(one)) {
      for (const inner of Object.values(one)) rest.push(inner)
      continue
    }
    const leaf = String(one)
    if (typeof one === 'boolean' || loose(leaf).length < shortest) return null
    if (leaves.add(leaf).size > limits.values) return null
  }
  return [...leaves]
}

/** Letters and digits alone, in one case and one width. */
function loose(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
}

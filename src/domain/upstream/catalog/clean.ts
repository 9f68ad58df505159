/* oxlint-disable no-control-regex -- this file removes control characters */
/**
 * Makes untrusted text safe for people and models: no control characters, terminal escapes or invisible characters.
 * Pure.
 */
import { isJsonObject, type Json, type JsonObject } from '../../../core/json.ts'

/** Terminal escapes (CSI, OSC and the two-character ones), in both spellings. */
const escapes =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b\]|\u009d)[^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b./g
/** Controls except tab and line feed. */
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g
/**
 * Invisible characters: soft hyphen, zero-width characters, text direction, fillers, annotation marks, variation
 * selectors, and the tag characters that spell hidden ASCII.
 */
const invisible =
  /\u00ad|\u034f|\u061c|[\u115f\u1160]|[\u17b4\u17b5]|\u180e|[\u200b-\u200f]|[\u2028-\u202e]|[\u2060-\u206f]|\u3164|[\ufe00-\ufe0e]|\ufeff|\uffa0|[\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu

/** The text without these characters, cut to `max` characters. */
export function cleanText(text: string, max: number): string {
  const clean = text
    .slice(0, max * 4)
    .replace(/\r\n?/g, '\n')
    .replace(escapes, '')
    .replace(controls, '')
    .replace(invisible, '')
    .toWellFormed()
    .trim()
  return clean.length <= max ? clean : `${clean.slice(0, max - 1).toWellFormed()}…`
}

/** Like `cleanText`, for one line: line breaks become spaces. */
export function cleanLine(text: string, max: number): string {
  return cleanText(text.replace(/[\t\r\n]+/g, ' '), max)
}

const prose = new Set(['title', 'description', '$comment'])
/** Values under these keywords are data, not schemas, and are not changed. */
const data = new Set(['const', 'enum', 'default', 'examples'])
const maxProse = 4000

/** Cleans the schema's texts; everything else keeps its value and order. The caller has bounded the depth. */
export function cleanSchema(schema: JsonObject): JsonObject {
  return cleanNode(schema) as JsonObject
}

function cleanNode(node: Json): Json {
  if (Array.isArray(node)) return node.map(cleanNode)
  if (!isJsonObject(node)) return node
  const out: JsonObject = {}
  for (const [key, value] of Object.entries(node)) {
    const made =
      prose.has(key) && typeof value === 'string'
        ? cleanText(value, maxProse)
        : data.has(key)
          ? value
          : cleanNode(value)
    Object.defineProperty(out, key, { value: made, enumerable: true, writable: true, configurable: true })
  }
  return out
}

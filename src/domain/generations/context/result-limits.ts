/** Limits the text of tool results that a model gets, per result and per step. The full result stays in its row. */
import type { ContentBlock } from '../../../core/content.ts'
import { cutText, tryParseJson, writeJson } from '../../../core/json.ts'
import type { ToolResultPart } from '../../models/index.ts'

/** Bytes of UTF-8. */
export const resultLimits = { perResult: 32 * 1024, perStep: 96 * 1024 } as const

/** Characters above which JSON is cut as text: parsing it would cost more than the cleaner cut is worth. */
const parseUpTo = 1024 * 1024

/**
 * The text, or a cut of at most `maxBytes`: a JSON array loses whole elements from its end; anything else keeps three
 * quarters of the limit from its head and one quarter from its tail. `note` goes into the marker and says where the
 * whole text can be read.
 */
export function limitResultText(text: string, maxBytes: number = resultLimits.perResult, note = ''): string {
  if (Buffer.byteLength(text) <= maxBytes) return text
  return cutArray(text, maxBytes, note) ?? cutText(text, maxBytes, note)
}

function cutArray(text: string, maxBytes: number, note: string): string | null {
  if (!text.startsWith('[') || text.length > parseUpTo) return null
  const value = tryParseJson(text)
  if (!Array.isArray(value) || value.length < 2) return null
  const marker = (kept: number) => `\n[… cut: ${kept} of ${value.length} elements${note} …]`
  const room = maxBytes - Buffer.byteLength(marker(value.length)) - 2
  const kept: string[] = []
  let size = 0
  for (const element of value) {
    const json = writeJson(element)
    size += Buffer.byteLength(json) + 1
    if (size > room) break
    kept.push(json)
  }
  return kept.length === 0 ? null : `[${kept.join(',')}]${marker(kept.length)}`
}

/**
 * The results of one step, each with at most `perResult` bytes of text and together with at most `perStep`. If the
 * sum is too large, the largest are cut to one common size and small ones stay whole. `note` says where the full
 * result can be read.
 */
export function limitStepResults(
  results: ToolResultPart[],
  note: (result: ToolResultPart) => string = () => '',
  limits: { perResult: number; perStep: number } = resultLimits,
): ToolResultPart[] {
  const sizes = results.map((result) => Math.min(textBytes(result), limits.perResult))
  const common = Math.min(limits.perResult, commonCap(sizes, limits.perStep))
  return results.map((result) =>
    textBytes(result) > common ? cutResult(result, common, note(result)) : result,
  )
}

/** The largest cap for which the capped sizes sum to at most `total`. */
function commonCap(sizes: number[], total: number): number {
  const ascending = sizes.toSorted((a, b) => a - b)
  let left = total
  for (const [i, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - i))
    if (size > share) return share
    left -= size
  }
  return Infinity
}

function textBytes(result: ToolResultPart): number {
  const text = result.content.reduce((sum, block) => sum + Buffer.byteLength(textOfBlock(block) ?? ''), 0)
  if (result.structuredContent === undefined) return text
  return Math.max(text, Buffer.byteLength(writeJson(result.structuredContent)))
}

/**
 * Puts all text into one cut block at the position of the first text. Drops the structured form, because half a JSON
 * value is invalid.
 */
function cutResult(result: ToolResultPart, maxBytes: number, note: string): ToolResultPart {
  const { structuredContent, ...rest } = result
  const texts = result.content.map(textOfBlock).filter((text) => text !== null)
  const whole = texts.length > 0 ? texts.join('\n') : writeJson(structuredContent)
  const cut: ContentBlock = { type: 'text', text: limitResultText(whole, maxBytes, note) }
  const others = result.content.filter((block) => textOfBlock(block) === null)
  return { ...rest, content: [cut, ...others] }
}

function textOfBlock(block: ContentBlock): string | null {
  if (block.type === 'text') return block.text
  return block.type === 'resource' ? (block.resource.text ?? null) : null
}

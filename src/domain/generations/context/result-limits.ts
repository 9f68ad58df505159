/** How much text of tool results a model is shown: per result and per step. The full result stays elsewhere. */
import type { ContentBlock } from '../../../core/content.ts'
import { cutText, tryParseJson } from '../../../core/json.ts'
import type { ToolResultPart } from '../model/message.ts'

/** Bytes of UTF-8. */
export const resultLimits = { perResult: 32 * 1024, perStep: 96 * 1024 } as const

/** JSON longer than this is cut as text: parsing it again would cost more than the cleaner cut is worth. */
const parseUpTo = 1024 * 1024

/**
 * The text, or a cut of at most `maxBytes`: a JSON array loses whole elements from its end, anything else keeps three
 * quarters from the head and one from the tail. `note` goes into the marker (say where the rest can be read).
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
    const json = JSON.stringify(element)
    size += Buffer.byteLength(json) + 1
    if (size > room) break
    kept.push(json)
  }
  return kept.length === 0 ? null : `[${kept.join(',')}]${marker(kept.length)}`
}

/**
 * The results of one step, each at most `perResult` bytes of text and all together at most `perStep`. When the step is
 * over, the largest are cut to one common size and the small ones stay whole. `note` names where the full result is.
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

/** The largest cap for which the capped sizes add up to `total` at most. */
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
  return Math.max(text, Buffer.byteLength(JSON.stringify(result.structuredContent)))
}

/** All text in one cut block where the first text stood. The structured form goes: half a JSON value is none. */
function cutResult(result: ToolResultPart, maxBytes: number, note: string): ToolResultPart {
  const { structuredContent, ...rest } = result
  const texts = result.content.map(textOfBlock).filter((text) => text !== null)
  const whole = texts.length > 0 ? texts.join('\n') : JSON.stringify(structuredContent)
  const cut: ContentBlock = { type: 'text', text: limitResultText(whole, maxBytes, note) }
  const others = result.content.filter((block) => textOfBlock(block) === null)
  return { ...rest, content: [cut, ...others] }
}

function textOfBlock(block: ContentBlock): string | null {
  if (block.type === 'text') return block.text
  return block.type === 'resource' ? (block.resource.text ?? null) : null
}

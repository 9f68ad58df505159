import { expect, test } from 'vitest'
import fc from 'fast-check'
import {
  limitResultText,
  limitStepResults,
} from '../../../../src/domain/generations/context/context-window.ts'
import type { ToolResultPart } from '../../../../src/domain/models/message.ts'

function result(name: string, text: string, more: Partial<ToolResultPart> = {}): ToolResultPart {
  const content = [{ type: 'text' as const, text }]
  return { type: 'tool-result', callId: name, providerCallId: name, name, content, isError: false, ...more }
}

function textOf(part: ToolResultPart): string {
  return part.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
}

test('a short text stays, a long one keeps three quarters of its head and says how long it was', () => {
  expect(limitResultText('short')).toBe('short')
  const cut = limitResultText(
    `${'a'.repeat(60_000)}${'z'.repeat(40_000)}`,
    undefined,
    ', read on with read_tool_result',
  )
  expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(32 * 1024)
  expect(cut).toMatch(/^a{20000}.*100000 bytes in total, read on with read_tool_result.*z{7000}/s)
})

test('a JSON array is cut between its elements', () => {
  const rows = Array.from({ length: 5_000 }, (_, id) => ({ id, name: `row ${id}` }))
  const [json, marker] = limitResultText(JSON.stringify(rows)).split('\n')
  const kept = JSON.parse(json!) as unknown[]
  expect(kept).toEqual(rows.slice(0, kept.length))
  expect(marker).toContain(`${kept.length} of 5000 elements`)
})

test('a step keeps small results whole and cuts the large ones to one size', () => {
  const big = 'x'.repeat(50_000)
  const limited = limitStepResults([
    result('a', 'tiny'),
    ...['b', 'c', 'd', 'e'].map((name) => result(name, big)),
  ])
  const sizes = limited.map((part) => Buffer.byteLength(textOf(part)))
  expect(sizes[0]).toBe(4)
  expect(new Set(sizes.slice(1)).size).toBe(1)
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(96 * 1024)
})

test('a cut result loses its structured form and keeps its pictures', () => {
  const image = { type: 'image' as const, data: 'x', mimeType: 'image/png' }
  const structured = result('a', '', { content: [image], structuredContent: { text: 'y'.repeat(50_000) } })
  const [cut] = limitStepResults([structured], (part) => ` of ${part.name}`)
  expect(cut!.structuredContent).toBeUndefined()
  expect(cut!.content[1]).toEqual(image)
  expect(textOf(cut!)).toContain('in total of a')
})

test('no cut is longer than its limit or inside a character', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 400 }),
      fc.integer({ min: 120, max: 400 }),
      (text, bytes) => {
        // What decoding puts in place of half a character is a character of its own, too.
        fc.pre(!text.includes('\uFFFD'))
        const cut = limitResultText(text, bytes)
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(bytes)
        expect(cut).not.toContain('\uFFFD')
      },
    ),
  )
})

/** Foreign text in a line of ours: whole graphemes, and nothing that hides or moves what stands beside it. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { oneLine } from '../../src/core/text.ts'

test.each([
  ['plain', 'plain'],
  ['two\n lines\tand  spaces ', 'two lines and spaces'],
  ['100\u202e001', '100\u{fffd}001'],
  ['a\u200bb\u2066c\u00add\u3164e\u2800f', 'a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e\u{fffd}f'],
  ['pa\u200dy', 'pa\u{fffd}y'],
  ['\u001b[31mred\u0000', '\u{fffd}[31mred\u{fffd}'],
  ['half \ud83d', 'half \u{fffd}'],
  // Written with joiners, selectors and tags: nothing is hidden by them.
  ['👨‍👩‍👧‍👦 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣', '👨‍👩‍👧‍👦 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣'],
  ['می‌خواهم क्‍ष', 'می‌خواهم क्‍ष'],
  ['', ''],
])('%j is shown as %j', (text, shown) => {
  expect(oneLine(text, 80)).toBe(shown)
})

test('a longer text is cut before a grapheme that has no room, and says so', () => {
  expect(oneLine('abcdef', 6)).toBe('abcdef')
  expect(oneLine('abcdefg', 6)).toBe('abcde…')
  expect(oneLine('ab👨‍👩‍👧‍👦', 6)).toBe('ab…')
  expect(oneLine('abcd😀', 6)).toBe('abcd😀')
  expect(oneLine('abcde😀', 6)).toBe('abcde…')
  expect(oneLine('x'.repeat(100_000), 80)).toHaveLength(80)
  expect(oneLine(`e${'\u0301'.repeat(100_000)}`, 80)).toBe('…')
  expect(oneLine(`${' '.repeat(100_000)}end`, 80)).toBe('…')
})

test('no text is longer than it may be, ends in half a character, or has what is not seen', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.integer({ min: 1, max: 100 }),
      (text, max) => {
        const line = oneLine(text, max)
        expect(line.length).toBeLessThanOrEqual(max)
        expect(line.isWellFormed()).toBe(true)
        expect(line).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069\u200e\u200f\u200b]/u)
      },
    ),
  )
})

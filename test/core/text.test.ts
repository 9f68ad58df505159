import { describe, expect, it } from 'vitest'
import { canonicalText, shortText } from '../../src/core/text.ts'

describe('text from outside', () => {
  it.each([
    ['', ''],
    ['plain, é, 漢, 🎈', 'plain, é, 漢, 🎈'],
    ['a\0b\0', 'a\uFFFDb\uFFFD'],
    ['half \uD83C of a pair', 'half \uFFFD of a pair'],
    ['\uDF88 and the other half', '\uFFFD and the other half'],
    ['\uDF88\uD83C', '\uFFFD\uFFFD'],
    ['\t\n\u0001\uFFFE\uFFFF', '\t\n\u0001\uFFFE\uFFFF'],
  ])('%j becomes %j', (text, canonical) => {
    expect(canonicalText(text)).toBe(canonical)
    expect(canonicalText(canonical)).toBe(canonical)
  })

  it.each([
    ['five', 4, 'five'],
    ['five!', 4, 'fiv…'],
    ['ab🎈cd', 4, 'ab…'],
    ['abc🎈d', 5, 'abc…'],
    ['a\0bcd', 4, 'a\uFFFDb…'],
    ['ab\uD83C', 3, 'ab\uFFFD'],
  ])('%j in %i units is %j', (text, max, short) => {
    expect(shortText(text, max)).toBe(short)
    expect(shortText(text, max).length).toBeLessThanOrEqual(max)
  })
})

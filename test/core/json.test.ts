import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson, cutText, hashJson, jsonTooBig } from '../../src/core/json.ts'

test('equal values have equal canonical forms whatever the order of their keys', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const turned = Object.fromEntries(Object.entries(value).toReversed())
      expect(canonicalJson(turned)).toBe(canonicalJson(value))
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})

test('different values have different hashes', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      expect(hashJson(a) === hashJson(b)).toBe(canonicalJson(a) === canonicalJson(b))
    }),
  )
})

test('a cut text stays within its bytes, keeps its head and never breaks a character', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 400 }),
      fc.integer({ min: 80, max: 300 }),
      (text, max) => {
        const cut = cutText(text, max)
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(
          Math.max(max, Buffer.byteLength(text) <= max ? max : max + 4),
        )
        expect(cut.isWellFormed()).toBe(true)
        if (Buffer.byteLength(text) > max) expect(cut).toContain(`${Buffer.byteLength(text)} bytes in total`)
        else expect(cut).toBe(text)
      },
    ),
  )
})

test('a document nested a hundred thousand levels deep is refused without a crash', () => {
  let deep: unknown = 1
  for (let i = 0; i < 100_000; i++) deep = [deep]
  expect(jsonTooBig(deep, { maxBytes: 1e9, maxDepth: 64 })).toContain('deeper')
  expect(jsonTooBig({ a: 'x'.repeat(50) }, { maxBytes: 40, maxDepth: 5 })).toContain('larger')
  expect(jsonTooBig({ a: [1, 'x', null] }, { maxBytes: 100, maxDepth: 5 })).toBeNull()
})

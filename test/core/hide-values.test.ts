/** Values hidden in texts of people: as they are, in other spellings, and in doubt the whole text. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Json } from '../../src/core/json.ts'
import { valueHider } from '../../src/core/scrub.ts'

const card = '4111 1111 1111 1111'

test.each<[Json, string, string]>([
  [card, `pay with ${card}, please`, 'pay with [masked], please'],
  [{ number: card, holder: 'Ada Lovelace' }, `${card} of Ada Lovelace`, '[masked] of [masked]'],
  [card, 'nothing of the kind', 'nothing of the kind'],
  [12345, 'my code is 12345.', 'my code is [masked].'],
  // Spelled otherwise: what to replace cannot be told.
  [card, 'pay with 4111-1111-1111-1111', '[masked]'],
  [card, 'pay with ４１１１１１１１１１１１１１１１', '[masked]'],
  ['Hunter Two', 'it is hunter_two', '[masked]'],
  [12345, 'my code is 12,345', '[masked]'],
  // Too short, or no text: it might be anywhere.
  ['123', 'unlock with 123', '[masked]'],
  ['1-2-3', 'unlock with 1-2-3', '[masked]'],
  ['!!!!!!', 'unlock', '[masked]'],
  [true, 'am I insured?', '[masked]'],
  [[card, 7], 'pay', '[masked]'],
  [Array.from({ length: 101 }, (_, i) => `value ${i}`), 'pay', '[masked]'],
  // Nothing is hidden by these.
  [null, 'pay', 'pay'],
  ['', 'pay', 'pay'],
])('%j in %j', (value, text, shown) => {
  expect(valueHider([value])(text, false)).toBe(shown)
})

test('without values a text is what it was', () => {
  expect(valueHider([])(`pay with ${card}`, true)).toBe(`pay with ${card}`)
})

test('a text that was cut is hidden when it has a value, or when half of one may be at its end', () => {
  expect(valueHider([card])(`${card} and more`, true)).toBe('[masked]')
  expect(valueHider([card])('no card here', true)).toBe('no card here')
  expect(valueHider(['x'.repeat(2_001)])('no key here', true)).toBe('[masked]')
})

test('no spelling of a value is left in a text, wherever it is', () => {
  const spelled = (value: string) =>
    fc.constantFrom(
      value,
      value.toUpperCase(),
      [...value].join(' '),
      encodeURIComponent(value),
      Buffer.from(value).toString('base64'),
    )
  const secret = fc.string({ minLength: 4, maxLength: 12, unit: fc.constantFrom(...'abcxyz0189') })
  fc.assert(
    fc.property(
      secret.chain((value) => fc.tuple(fc.constant(value), spelled(value), fc.string(), fc.string())),
      ([value, spelling, before, after]) => {
        const shown = valueHider([value])(`${before}${spelling}${after}`, false)
        expect(shown.toLowerCase().replaceAll(/[^a-z0-9]/g, '')).not.toContain(value)
        expect(shown).not.toContain(spelling)
      },
    ),
  )
})

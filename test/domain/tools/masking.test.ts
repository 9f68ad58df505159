/** Masking: what a schema marks is never shown, however the schema is written. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/json.ts'
import { maskAt } from '../../../src/core/scrub.ts'
import * as masking from '../../../src/domain/tools/masking.ts'

const secret = { type: 'string', writeOnly: true }
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
})
const projectId = 'proj_a'
const maskedPaths = (inputSchema: JsonObject, args: JsonObject) =>
  masking.maskedPaths({ inputSchema, projectId }, args)
const maskedText = (inputSchema: JsonObject, text: string) =>
  masking.maskedText({ inputSchema, projectId }, text)
const shown = (schema: JsonObject, args: JsonObject) => maskAt(args, maskedPaths(schema, args))

const card = object({ number: secret, holder: { type: 'string' } })

describe('a marked property is masked', () => {
  test.each<[string, JsonObject, JsonObject, JsonObject]>([
    ['with writeOnly', object({ pin: secret }), { pin: 'x', a: 1 }, { pin: '[masked]', a: 1 }],
    [
      'with format password',
      object({ pin: { type: 'string', format: 'password' } }),
      { pin: 'x' },
      { pin: '[masked]' },
    ],
    ['under not', object({ pin: { not: { not: secret } } }), { pin: 'x' }, { pin: '[masked]' }],
    [
      'inside a schema under not',
      object({}, { not: object({ pin: secret }) }),
      { pin: 'x', a: 1 },
      { pin: '[masked]', a: 1 },
    ],
    [
      'by the names of its members',
      object({ pins: object({}, { propertyNames: { format: 'password' } }), a: {} }),
      { pins: { 'a secret': 1 }, a: 1 },
      { pins: '[masked]', a: 1 },
    ],
    [
      'behind a reference',
      object({ pin: { $ref: '#/$defs/pin' } }, { $defs: { pin: secret } }),
      { pin: 'x' },
      { pin: '[masked]' },
    ],
    [
      'behind two references, one by anchor',
      object(
        { pin: { $ref: '#/$defs/a' } },
        { $defs: { a: { $ref: '#b' }, b: { $anchor: 'b', ...secret } } },
      ),
      { pin: 'x' },
      { pin: '[masked]' },
    ],
    [
      'behind an escaped reference',
      object({ pin: { $ref: '#/$defs/a~1b%20c' } }, { $defs: { 'a/b c': secret } }),
      { pin: 'x' },
      { pin: '[masked]' },
    ],
    [
      'that may also be null',
      object({ pin: { anyOf: [{ type: 'string', format: 'password' }, { type: 'null' }] } }),
      { pin: 'x' },
      { pin: '[masked]' },
    ],
    [
      'made of several',
      object({ pin: { allOf: [{ type: 'string' }, secret] } }),
      { pin: 'x' },
      { pin: '[masked]' },
    ],
    [
      'whose items are marked',
      object({ pins: { type: 'array', items: secret } }),
      { pins: ['x', 'y'] },
      { pins: '[masked]' },
    ],
    [
      'whose members of any name are marked',
      object({ pins: { type: 'object', additionalProperties: secret } }),
      { pins: { a: 'x' } },
      { pins: '[masked]' },
    ],
    [
      'by a pattern',
      { type: 'object', patternProperties: { '^secret_': secret } },
      { secret_a: 'x', plain: 'y' },
      { secret_a: '[masked]', plain: 'y' },
    ],
    ['when everything is', { type: 'object', additionalProperties: secret }, { a: 'x' }, { a: '[masked]' }],
    [
      'inside an object',
      object({ card }),
      { card: { number: 'x', holder: 'y' } },
      { card: { number: '[masked]', holder: 'y' } },
    ],
    [
      'inside a list',
      object({ cards: { type: 'array', items: { $ref: '#/$defs/card' } } }, { $defs: { card } }),
      { cards: [{ number: 'x' }, { holder: 'y' }] },
      { cards: [{ number: '[masked]' }, { holder: 'y' }] },
    ],
    ['that is no text', object({ pin: secret }), { pin: { a: ['x'] } }, { pin: '[masked]' }],
    ['in a branch', { oneOf: [object({ pin: secret }), object({})] }, { pin: 'x' }, { pin: '[masked]' }],
    [
      'wherever its name stands: rather one too many',
      object({ pin: secret, more: { type: 'object' } }),
      { more: { pin: 'x' } },
      { more: { pin: '[masked]' } },
    ],
  ])('%s', (_what, schema, args, expected) => {
    const before = structuredClone(args)
    expect(shown(schema, args)).toEqual(expected)
    expect(args).toEqual(before)
  })
})

test('what is not marked is shown, and a schema that refers to itself terminates', () => {
  const tree = object(
    { pin: { $ref: '#/$defs/a' } },
    { $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#' }] } } },
  )
  for (const schema of [
    object({ a: { type: 'string', format: 'email' } }),
    object({ a: { writeOnly: false } }),
    tree,
    {},
  ]) {
    const args = { a: 'x', pin: 'y' }
    expect(maskedPaths(schema, args)).toEqual([])
    expect(shown(schema, args)).toBe(args)
  }
})

test('a marked argument named like a member of Object is an ordinary one', () => {
  const schema = JSON.parse(
    '{"properties": {"__proto__": {"writeOnly": true}, "constructor": {"writeOnly": true}}}',
  )
  const args = JSON.parse('{"__proto__": "x", "constructor": "y", "a": 1}')
  expect(JSON.stringify(shown(schema, args))).toBe('{"__proto__":"[masked]","constructor":"[masked]","a":1}')
})

test('a secret is never shown, wherever it is among the arguments', () => {
  const name = fc.constantFrom('a', 'b', 'pin')
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.integer(),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value'), { maxKeys: 3 }),
    ),
  }))
  fc.assert(
    fc.property(fc.dictionary(name, value, { maxKeys: 3 }), (given) => {
      const args = JSON.parse(JSON.stringify(given), (key, inner) =>
        key === 'pin' ? 'hunter2' : inner,
      ) as JsonObject
      expect(JSON.stringify(shown(object({ pin: secret }), args))).not.toContain('hunter2')
    }),
  )
})

test('text of a model that is not valid JSON is masked as text', () => {
  const schema = object({ pin: secret })
  expect(maskedText(schema, '{"pin": "x", "n": "seven"}')).toBe('{"pin":"[masked]","n":"seven"}')
  expect(maskedText(schema, '[{"pin": "x"}]')).toBe('[{"pin":"[masked]"}]')
  expect(maskedText(schema, '{"pin": "hunt')).toBe('[masked]')
  expect(maskedText(schema, '"hunter2"')).toBe('[masked]')
  expect(maskedText(object({}), '{"pin": "hunt')).toBe('{"pin": "hunt')
})

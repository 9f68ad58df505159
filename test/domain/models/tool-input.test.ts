import { expect, test } from 'vitest'
import { readCallInput } from '../../../src/domain/models/message.ts'

test.each([
  ['{"a":1}', { a: 1 }],
  ['', {}],
  ['  \n', {}],
  ['"{\\"a\\":1}"', { a: 1 }],
  ['```json\n{"a":1}\n```', { a: 1 }],
  ['{"a":1}\n```', { a: 1 }],
  ['{"a":1}<|call|>', { a: 1 }],
  ['{"a":"<|call|>"} <|call|>\n<|end_of-text|>', { a: '<|call|>' }],
])('%j is read', (text, value) => expect(readCallInput(text)).toEqual(value))

test.each(['[1]', '"text"', '3', 'null', '{"a":', '{a:1}', 'Sure! {"a":1}', '{"a":1}{"b":2}'])(
  '%j is no object, and is not guessed at',
  (text) => expect(readCallInput(text)).toBeNull(),
)

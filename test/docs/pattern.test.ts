/** The comparison of examples with real answers fails when it should: otherwise no example would prove anything. */
import { expect, test } from 'vitest'
import { examplesOf } from './blocks.ts'
import { mismatch, SeenIds, textFits } from './pattern.ts'

test('an answer fits when every field of the pattern is there, whatever else there is', () => {
  expect(mismatch({ a: 1 }, { a: 1, b: 2 })).toBeNull()
  expect(mismatch({ id: 'gen_…', at: '…' }, { id: 'gen_1', at: 5 })).toBeNull()
  expect(mismatch({ a: [{ b: 1 }, '…'] }, { a: [{ b: 1 }, { b: 2 }] })).toBeNull()
})

test('an answer that differs is named with its place', () => {
  expect(mismatch({ a: { b: 1 } }, { a: { b: 2 } })).toBe('answer.a.b is 2, the document says 1')
  expect(mismatch({ a: '…' }, {})).toBe('answer.a is missing')
  expect(mismatch({ a: [1] }, { a: [1, 2] })).toMatch(/^answer\.a has 2 entries/)
  expect(mismatch({ a: [1, 2, '…'] }, { a: [1] })).toMatch(/^answer\.a has 1 entries/)
  expect(mismatch({ a: null }, { a: 'x' })).not.toBeNull()
  expect(mismatch({ id: 'gen_…' }, { id: 'call_1' })).not.toBeNull()
  expect(mismatch({ a: 1 }, null)).not.toBeNull()
})

test('printed text fits with anything in the place of an ellipsis, and not otherwise', () => {
  expect(textFits('one …\nthree', 'one two  \nthree\n')).toBe(true)
  expect(textFits('one.', 'oneX')).toBe(false)
  expect(textFits('one', 'one two')).toBe(false)
})

test('an id in a request is the newest of its kind, or that of the name behind it', () => {
  const seen = new SeenIds()
  const [first, second] = ['tool_aaaaaaaaaaaaaaaaaaaaaaaa', 'tool_bbbbbbbbbbbbbbbbbbbbbbbb']
  seen.note({
    nodes: [
      { id: first, name: 'one' },
      { id: second, name: 'two' },
    ],
  })
  expect(seen.fill('id: "tool_…"')).toBe(`id: "${second}"`)
  expect(seen.fill('id: "tool_…"  # one')).toBe(`id: "${first}"  # one`)
  expect(() => seen.fill('id: "apr_…"')).toThrow('apr_…')
})

test('a block is an example, its answer, or excused; a picture in text is none of them', () => {
  const markdown = [
    '```graphql',
    '{ a }',
    '```',
    '```json',
    '{}',
    '```',
    'Words.',
    '```json',
    '{ "b": 1 }',
    '```',
    '<!-- not run: it needs a name -->',
    '```sh',
    'ls',
    '```',
    'More words.',
    '```text',
    'a picture',
    '```',
  ].join('\n')
  const found = examplesOf('file.md', markdown)
  expect(found.map(({ at, language, excuse, answers }) => [at, language, excuse, answers.length])).toEqual([
    ['file.md:1', 'graphql', null, 1],
    ['file.md:8', 'json', null, 0],
    ['file.md:12', 'sh', 'it needs a name', 0],
  ])
})

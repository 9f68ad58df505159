/** Results of calls as the page shows them: blocks of content from JSON that a stranger wrote. */
import { expect, test } from 'vitest'
import { blocksOf, bytesText } from '../../web/src/parts/content-blocks.ts'

const pixel = 'iVBORw0KGgo='
const only = (block: unknown) => blocksOf([block])[0]

test('text is text, and text that is JSON of some structure is indented', () => {
  expect(only({ type: 'text', text: 'plain' })).toMatchObject({ kind: 'text', text: 'plain', isJson: false })
  expect(only({ type: 'text', text: '{"a":1}' })).toMatchObject({ text: '{\n  "a": 1\n}', isJson: true })
  expect(only({ type: 'text', text: '{broken' })).toMatchObject({ text: '{broken', isJson: false })
  expect(only({ type: 'text', text: '42' })).toMatchObject({ text: '42', isJson: false })
  expect(only({ type: 'resource', resource: { uri: 'a:b', text: 'inside' } })).toMatchObject({
    text: 'inside',
  })
})

test('an image of a usual kind and at most a megabyte is drawn, every other one is data', () => {
  const image = (mimeType: string, data: string) => only({ type: 'image', mimeType, data })
  expect(image('image/png', pixel)).toMatchObject({ kind: 'image', url: `data:image/png;base64,${pixel}` })
  expect(image('image/svg+xml', pixel)).toMatchObject({ kind: 'data', what: 'image/svg+xml' })
  expect(image('image/png', 'A'.repeat(1_500_000))).toMatchObject({ kind: 'data', bytes: 1_125_000 })
  // What is not base64 could end the address and begin another.
  expect(image('image/png', 'AAAA" onerror="x')).toMatchObject({ kind: 'data' })
  expect(only({ type: 'audio', mimeType: 'audio/wav', data: pixel })).toMatchObject({ kind: 'data' })
})

test('only web addresses can be followed, and they name their host', () => {
  const link = (uri: string) => only({ type: 'resource_link', uri, name: 'Report' })
  expect(link('https://example.com/a')).toMatchObject({ kind: 'link', host: 'example.com', name: 'Report' })
  expect(link('javascript:alert(1)')).toMatchObject({ kind: 'link', host: null })
  expect(link('no address')).toMatchObject({ kind: 'link', host: null })
})

test('what is no content at all is shown as it is, each block at its place', () => {
  expect(blocksOf(null)).toEqual([])
  expect(blocksOf({ a: 1 })).toEqual([{ at: 0, kind: 'other', value: { a: 1 } }])
  expect(blocksOf([null, 'x', { type: 'new' }]).map(({ at, kind }) => [at, kind])).toEqual([
    [0, 'other'],
    [1, 'other'],
    [2, 'other'],
  ])
})

test('sizes have the unit that fits', () => {
  expect([12, 2048, 3_145_728].map(bytesText)).toEqual(['12 bytes', '2 KiB', '3.0 MiB'])
})

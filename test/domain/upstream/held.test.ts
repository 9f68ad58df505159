/** What a catalog remembers of earlier readings has a bound, and what was forgotten is held to the strictest. Pure. */
import { expect, test } from 'vitest'
import type { UpstreamTool } from '../../../src/domain/upstream/index.ts'
import { holdKnown } from '../../../src/domain/upstream/catalog/held.ts'

const tool = (name: string, more: Partial<UpstreamTool> = {}): UpstreamTool => ({
  name,
  title: null,
  description: '',
  inputSchema: { type: 'object' },
  outputSchema: null,
  annotations: null,
  hash: name,
  ...more,
})
const many = (prefix: string, count: number, more: Partial<UpstreamTool> = {}) =>
  Array.from({ length: count }, (_, i) => tool(`${prefix}${i}`, more))
const destructive = { annotations: { destructiveHint: true } }
const large = (name: string) => ({
  type: 'object',
  properties: { [name]: { type: 'string', enum: ['x'.repeat(300_000)], writeOnly: true } },
})

test('a server cannot flush what is remembered: what it lists after that is held to be destructive', () => {
  let known = holdKnown({ tools: [] }, [tool('drop', destructive)])
  for (const prefix of ['a', 'b', 'c']) known = holdKnown(known, many(prefix, 900))
  expect(known.gone).toHaveLength(1000)
  expect(known.forgot).toBe(true)
  const back = holdKnown(known, [tool('drop'), tool('other')])
  expect(back.tools.map(({ held }) => held)).toEqual([destructive, destructive])
})

test('schemas of earlier readings that are too large together are replaced by one that masks everything', () => {
  const first = many('t', 10).map((one) => ({ ...one, inputSchema: large(`secret_${one.name}`) }))
  let known = holdKnown({ tools: [] }, first)
  known = holdKnown(known, many('t', 10))
  expect(JSON.stringify(known).length).toBeLessThan(2 * 1024 * 1024)
  known = holdKnown(known, [])
  expect(JSON.stringify(known).length).toBeLessThan(2 * 1024 * 1024)
  const gone = known.gone!.map(({ inputSchema }) => inputSchema)
  expect(gone).toHaveLength(10)
  expect(gone.filter((schema) => schema['writeOnly'] === true)).not.toEqual([])
  const back = holdKnown(known, many('t', 10))
  expect(back.tools.filter(({ held }) => held?.inputSchema?.['writeOnly'] === true)).not.toEqual([])
})

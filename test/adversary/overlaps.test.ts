/** Documents that would take long to validate, and queries that take longer than their responses show. */
import { parse } from 'graphql'
import { describe, expect, onTestFinished, test } from 'vitest'
import { overlapFault } from '../../src/api/graphql/transport/documents.ts'
import { openHarness } from '../support/harness.ts'
import { makeFixtures } from '../support/fixtures.ts'

const times = (count: number, text: string) => Array.from({ length: count }, () => text).join(' ')

/** Each fragment selects the next one twice. */
const doubling = (count: number) =>
  Array.from(
    { length: count },
    (_, i) => `fragment f${i} on Query { a { ...f${i + 1} } b { ...f${i + 1} } }`,
  ).join(' ')

describe('a document is refused before it is validated', () => {
  test.each([
    ['that repeats a field', `{ viewer { ${times(900, 'id')} } }`],
    ['that repeats an alias', `{ viewer { ${times(300, 'x: name')} } }`],
    ['that repeats a field with a few fields', `{ ${times(60, `viewer { ${times(8, 'id')} }`)} }`],
    ['that repeats it in inline fragments', `{ viewer { ${times(200, '... on Viewer { id }')} } }`],
    [
      'that repeats it in fragments',
      `{ ${times(150, 'viewer { ...v }')} } fragment v on Viewer { ${times(8, 'id')} }`,
    ],
    ['whose unused fragment repeats it', `{ viewer { id } } fragment v on Viewer { ${times(900, 'id')} }`],
    ['whose fragments double at each level', `{ ...f0 } ${doubling(40)} fragment f40 on Query { a }`],
    ['whose fragments are a circle', '{ ...f } fragment f on Query { a { ...f } b { ...f } }'],
    ['that is deep', `${times(100, '{ a')} ${times(100, '}')}`],
  ])('%s', (_what, text) => {
    expect(overlapFault(parse(text))).not.toBeNull()
  })

  test('and one of ordinary repetition is not', () => {
    const nodes = 'nodes { id name ...t } '
    const text = `query A { tools { ${times(4, nodes)} } ...q } query B { tools { nodes { id } } }
      fragment t on Tool { id name } fragment q on Query { tools { nodes { id } } }`
    expect(overlapFault(parse(text))).toBeNull()
  })
})

test('a stranger, and anybody else, is told so over HTTP', async () => {
  const h = await openHarness()
  onTestFinished(() => h.stop())
  for (const key of ['', undefined]) {
    const { data, errors } = await h.gql(`{ viewer { ${times(900, 'id')} } }`, {}, key)
    expect(data ?? null).toBeNull()
    expect(errors![0]!.message).toBe('The document selects fields of the same name too often.')
  }
})

test('trying a gate has a cost of its own, which is not returned', async () => {
  const h = await openHarness({ costPerMinute: 4000 })
  const fixtures = await makeFixtures(h)
  onTestFinished(async () => {
    await fixtures.close()
    await h.stop()
  })
  const query = `query($id: ID!) { previewGate(toolId: $id, gate: { autoApprove: false }, last: 1000) { replayed } }`
  expect((await h.gql(query, { id: fixtures.tools.act })).data['previewGate']).toEqual({ replayed: 0 })
  const { errors } = await h.gql(query, { id: fixtures.tools.act })
  expect(errors![0]!.extensions).toMatchObject({ code: 'LIMITED', retryAfterMs: expect.any(Number) })
})

/**
 * The output schemas that MCP clients get: the validators of official clients compile each, gated or not, and every result
 * passes them: a success, a failure, a refusal, a rejection and a pending one.
 */
import { describe, expect, test } from 'vitest'
import { openHarness } from '../../support/harness.ts'
import { connectV1, connectV2 } from '../../support/mcp-clients.ts'
import { secondOpinions } from '../../support/second-opinions.ts'
import { startModern } from '../../support/upstream-servers.ts'
import { forFile } from '../../support/for-file.ts'

const leaf = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] }
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const good = { a: { at: 'x' }, b: { at: 'y' } }
const bad = { a: { at: 'x' }, b: { at: 1 } }
/** By kind: the schema, a value that fits and one that does not. */
const kinds: Record<string, [schema: object, fits: object, breaks: object]> = {
  sibling: [object({ a: leaf, b: { $ref: '#/properties/a' } }), good, bad],
  defs: [object({ a: leaf, b: { $ref: '#/$defs/leaf' } }, { $defs: { leaf } }), good, bad],
  definitions: [object({ b: { $ref: '#/definitions/a~1b' } }, { definitions: { 'a/b': leaf } }), good, bad],
  anchor: [object({ b: { $ref: '#leaf' } }, { $defs: { leaf: { $anchor: 'leaf', ...leaf } } }), good, bad],
  recursive: [
    object({ at: { type: 'string' }, next: { $ref: '#' } }, { required: ['at'] }),
    { at: 'x', next: { at: 'y' } },
    { at: 'x', next: { at: 1 } },
  ],
  root: [
    {
      type: 'object',
      $ref: '#/$defs/node',
      $defs: { node: object({ at: { type: 'string' }, next: { $ref: '#/$defs/node' } }) },
    },
    { at: 'x', next: { at: 'y' } },
    { at: 'x', next: { at: 1 } },
  ],
  named: [
    object({ $ref: { type: 'string' }, b: leaf, c: { const: { $ref: '#/x' } } }),
    { $ref: '#', b: { at: '' } },
    { b: 1 },
  ],
  id: [object({ a: leaf, b: { $ref: '#/properties/a' } }, { $id: 'https://example.com/one' }), good, bad],
  'same-id': [object({ n: { type: 'number' } }, { $id: 'https://example.com/one' }), { n: 1 }, { n: 'x' }],
  embedded: [
    object(
      { b: { $ref: '#/$defs/box' } },
      { $defs: { box: box({ c: leaf, d: { $ref: '#/properties/c' } }) } },
    ),
    { b: { d: { at: 'x' } } },
    { b: { d: { at: 1 } } },
  ],
  'two-anchors': [
    object(
      { b: { $ref: '/box' }, c: { $ref: '#leaf' }, e: { $ref: '/box#leaf' } },
      {
        $id: 'https://example.com/all',
        $defs: {
          leaf: { $anchor: 'leaf', type: 'number' },
          box: box({ d: { $ref: '#leaf' } }, { $defs: { leaf: { $anchor: 'leaf', ...leaf } } }),
        },
      },
    ),
    { b: { d: { at: 'x' } }, c: 1, e: { at: 'y' } },
    { b: { d: 1 }, c: 1, e: { at: 'y' } },
  ],
  dynamic: [
    object({ b: { $dynamicRef: '#leaf' } }, { $defs: { leaf: { $dynamicAnchor: 'leaf', ...leaf } } }),
    { b: { at: 'x' } },
    { b: { at: 1 } },
  ],
  'dynamic-root': [
    object({ at: { type: 'string' }, next: { $dynamicRef: '#node' } }, { $dynamicAnchor: 'node' }),
    { at: 'x', next: { at: 'y' } },
    { at: 'x', next: { at: 1 } },
  ],
  extended: [
    {
      type: 'object',
      $dynamicAnchor: 'node',
      $ref: '/box',
      unevaluatedProperties: false,
      $id: 'https://example.com/strict',
      $defs: { tree: box({ at: {}, next: { $dynamicRef: '#node' } }, { $dynamicAnchor: 'node' }) },
    },
    { at: 'x', next: { at: 'y' } },
    { at: 'x', next: { hat: 'y' } },
  ],
}
function box(properties: object, more: object = {}) {
  return object(properties, { $id: 'https://example.com/box', ...more })
}

const h = await forFile(openHarness({}, { mcp: { inlineHoldMs: 100 } }))
const modern = await forFile(startModern())
const text = { type: 'text', text: 'said' }
for (const [name, [outputSchema, fits]] of Object.entries(kinds))
  modern.tools.set(name, {
    tool: { name, outputSchema, inputSchema: object({ fail: { type: 'boolean' } }) },
    run: ({ fail }) =>
      fail ? { content: [text], isError: true } : { content: [text], structuredContent: fits },
  })
const make = async (name: string, more: object = {}) => {
  const made = await h.mutate(
    'createTool',
    { name, config: { mcp: { url: modern.url } }, ...more },
    'tool { id }',
  )
  return made['tool'].id as string
}
const gatedId: string = await make('gated', { gate: { autoApprove: false } })
const input = { name: 'teller', toolIds: [await make('open'), gatedId], mcp: { enabled: true } }
const url: string = `${h.url}/mcp/${(await h.mutate('createAgent', input, 'agent { id }'))['agent'].id}`
const key: string = (await h.mutate('createApiKey', { name: 'caller', role: 'CALLER' }, 'secret'))['secret']

interface Client {
  listTools(): Promise<{ tools: { name: string; outputSchema?: unknown }[] }>
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<unknown>
}
const eras: [string, () => Promise<{ client: Client; leave(): Promise<unknown> }>][] = [
  ['SDK v1', () => connectV1(url, key) as never],
  ['SDK v2, legacy', async () => leaving(await connectV2(url, key, { mode: 'legacy' }))],
  ['SDK v2, modern', async () => leaving(await connectV2(url, key))],
]
const leaving = (client: Client & { close(): Promise<void> }) => ({ client, leave: () => client.close() })

test.each(Object.entries(kinds))('%s: means what is said here', async (_kind, [schema, fits, breaks]) => {
  const { hyperjump } = await secondOpinions(schema)
  expect([hyperjump(fits), hyperjump(breaks)]).toEqual([true, false])
})

describe.each(eras)('%s', (era, open) => {
  const using = async (work: (client: Client) => Promise<void>) => {
    const { client, leave } = await open()
    await work(client).finally(leave)
  }
  const listed = async (client: Client) =>
    new Map((await client.listTools()).tools.map((tool) => [tool.name, tool.outputSchema as object]))

  test.each(Object.keys(kinds))('%s: lists it, gated or not, and gets its values', (kind) =>
    using(async (client) => {
      const schemas = await listed(client)
      const [, fits, breaks] = kinds[kind]!
      for (const name of [`open_${kind}`, `gated_${kind}`])
        for (const [judge, opinion] of Object.entries(await secondOpinions(schemas.get(name)!)))
          expect([name, judge, opinion(fits), opinion(breaks)]).toEqual([name, judge, true, false])
      expect(await client.callTool({ name: `open_${kind}`, arguments: {} })).toMatchObject({
        structuredContent: fits,
      })
    }),
  )

  test('reads a failure, with its code and the words of the tool', () =>
    using(async (client) => {
      await listed(client)
      const result = await client.callTool({ name: 'open_defs', arguments: { fail: true } })
      expect(result).toMatchObject({
        isError: true,
        content: [{ text: 'said' }].concat(
          era.includes('modern') ? [] : [{ text: expect.stringContaining('"type":"tool_error"') }],
        ),
      })
    }))

  test('reads why its arguments were refused', () =>
    using(async (client) => {
      await listed(client)
      const result = await client.callTool({ name: 'open_defs', arguments: { fail: 'x' } })
      expect(result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining('invalid_arguments') }],
      })
    }))

  test('reads the reason of a rejection', () =>
    using(async (client) => {
      await listed(client)
      const call = client.callTool({ name: 'gated_sibling', arguments: {} })
      const id = await pending()
      if (era.includes('modern')) {
        await reject(id)
        expect(JSON.stringify(await call)).toContain('not in May')
        return
      }
      expect(await call).toMatchObject({ structuredContent: { status: 'pending_approval' } })
      await reject(id)
      const again = await client.callTool({ name: 'gated_sibling', arguments: {} })
      expect(again).toMatchObject({ isError: true })
      expect(JSON.stringify(again)).toContain('not in May')
      expect(again).not.toHaveProperty('structuredContent')
    }))
})

async function pending(): Promise<string> {
  const read = 'query($t: ID!) { approvals(filter: { toolId: $t, statuses: [PENDING] }) { nodes { id } } }'
  for (;;) {
    const { data } = await h.gql(read, { t: gatedId })
    const id = data['approvals'].nodes[0]?.id
    if (id) return id
  }
}
const reject = (approvalId: string) =>
  h.mutate('decideApproval', { approvalId, verdict: 'REJECT', reason: 'not in May' }, 'approval { id }')

/** The order in which people read arguments: the schema's, then the caller's, though jsonb keeps neither. */
import { expect, test } from 'vitest'
import { createClient } from '../../../client/index.ts'
import { useGateFixtures } from '../../support/gate-fixtures.ts'
import { adminKey } from '../../support/harness.ts'

const { h, fixtures, gate } = await useGateFixtures()

const place = { type: 'object', properties: { street: { type: 'string' }, zip: { type: 'string' } } }
const inputSchema = {
  type: 'object',
  properties: {
    recipient: { $ref: '#/$defs/person' },
    amount: { type: 'number' },
    note: { type: 'string' },
    currency: { type: 'string' },
    stops: { type: 'array', items: place },
  },
  required: ['note'],
  $defs: { person: { type: 'object', properties: { name: { type: 'string' }, id: { type: 'string' } } } },
}
const sent = {
  zz: 1,
  note: 'rent',
  a: 2,
  stops: [{ zip: '1', city: 'x', street: 'y' }],
  amount: 5,
  recipient: { id: '7', name: 'Ada', b: 1, aa: 2 },
}
const read =
  '{"recipient":{"name":"Ada","id":"7","b":1,"aa":2},"amount":5,"note":"rent","stops":[{"street":"y","zip":"1","city":"x"}],"zz":1,"a":2}'

const namesOf = (schema: any): string[] => Object.keys(schema.properties)
const properties = Object.keys(inputSchema.properties)
const config = (name: string) => ({ http: { url: `${fixtures.upstream.url}/${name}`, inputSchema } })
const shownFields = `arguments summary { text } question { inputSchema }
  toolCall { id arguments } generation { id }`

async function expectInOrder(approvalId: string): Promise<void> {
  const { data } = await h.gql(`query($id: ID!) { approval(id: $id) { ${shownFields} } }`, { id: approvalId })
  const { arguments: args, summary, question, toolCall } = data['approval']
  expect(JSON.stringify(args)).toBe(read)
  expect(JSON.stringify(toolCall.arguments)).toBe(read)
  expect(summary.text).toMatch(/: note rent, amount 5, zz 1$/)
  expect(namesOf(question.inputSchema)).toEqual(properties)
}

test('of a call by a caller, by a model and by an MCP client, in questions, calls, sentences and edits', async () => {
  const tool = await gate.gated({ autoApprove: false }, { config: config('ordered') })
  const direct = await gate.call(tool.id, sent)
  await expectInOrder(direct['approval'].id)

  const [asked] = await gate.pending(await gate.ask(tool, sent))
  await expectInOrder(asked!['id'])

  const edited = { ...sent, currency: 'EUR', extra: true }
  await gate.decide(asked!['id'], 'APPROVE', { arguments: edited })
  const { arguments: current } = await gate.approval(asked!['id'])
  expect(Object.keys(current)).toEqual([...properties, 'zz', 'a', 'extra'].filter((name) => name in edited))
})

test('of the schema of a tool, after it was read, changed and listed by version', async () => {
  const made = await gate.gated({ autoApprove: true }, { config: config('kept') })
  const fields = `inputSchema versions(first: 5) { nodes { version definition } }`
  const toolOf = async () =>
    (await h.gql(`query($id: ID!) { tool(id: $id) { ${fields} } }`, { id: made.id })).data['tool']
  expect(namesOf((await toolOf()).inputSchema)).toEqual(properties)
  await h.mutate('updateTool', { id: made.id, description: 'changed' }, 'tool { id }')
  const after = await toolOf()
  expect(namesOf(after.inputSchema)).toEqual(properties)
  expect(after.versions.nodes.map((one: any) => one.version)).toEqual([2, 1])
  for (const { definition } of after.versions.nodes) {
    expect(namesOf(definition.inputSchema)).toEqual(properties)
    expect(definition).not.toHaveProperty('order')
  }
})

test('the client reads it, too', async () => {
  const tool = await gate.gated({ autoApprove: false }, { config: config('client') })
  const call = await gate.call(tool.id, sent)
  const client = createClient({ url: h.url, key: adminKey })
  const approval = await client.approvals.get(call['approval'].id)
  expect(JSON.stringify(approval?.arguments)).toBe(read)
  client.close()
})

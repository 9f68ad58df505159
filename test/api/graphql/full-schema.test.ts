/** fullInputSchema: what updateTool takes, for those who may update the tool. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openHarness, type Harness } from '../../support/harness.ts'

let h: Harness
beforeAll(async () => (h = await openHarness()))
afterAll(() => h?.stop())

const schema = {
  type: 'object',
  properties: { amount: { type: 'number' }, tenant: { type: 'string' } },
  required: ['amount', 'tenant'],
}
const read = async (id: string, key?: string) =>
  (await h.gql('query($id: ID!) { tool(id: $id) { inputSchema fullInputSchema } }', { id }, key)).data['tool']

test('the schema with presets is handed back to updateTool unchanged, and hidden from who may not update', async () => {
  const { tool } = await h.mutate(
    'createTool',
    {
      name: 'pay',
      presetParameters: { tenant: 'acme' },
      config: { http: { url: 'https://pay.test', inputSchema: schema } },
    },
    'tool { id }',
  )
  const seen = await read(tool.id)
  expect(seen.fullInputSchema).toEqual(schema)
  expect(Object.keys(seen.inputSchema.properties)).toEqual(['amount'])
  const http = { url: 'https://pay.test/v2', inputSchema: seen.fullInputSchema }
  const updated = await h.mutate('updateTool', { id: tool.id, config: { http } }, 'tool { fullInputSchema }')
  expect(updated['tool'].fullInputSchema).toEqual(schema)
  const viewer = await h.mutate('createApiKey', { name: 'v', role: 'VIEWER' }, 'secret')
  const hidden = await read(tool.id, viewer['secret'])
  expect(hidden.fullInputSchema).toBeNull()
  expect(Object.keys(hidden.inputSchema.properties)).toEqual(['amount'])
})

test('a tool whose actions have schemas of their own has none', async () => {
  const config = { platform: { actions: ['tools'] } }
  const { tool } = await h.mutate('createTool', { name: 'own', config }, 'tool { id }')
  expect(await read(tool.id)).toEqual({ inputSchema: null, fullInputSchema: null })
})

/** Placeholders in the URL of an http tool: those without a property are refused, and tools from before that rule keep working. */
import { expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { sql } from '../../../src/store/db/sql.ts'
import { openHarness } from '../../support/harness.ts'
import { startLoopback } from '../../support/loopback.ts'
import { forFile } from '../../support/for-file.ts'

const upstream = await forFile(
  startLoopback((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  }),
)
const h = await forFile(openHarness())

const schema = { type: 'object', properties: { id: { type: 'string' } } }
const http = (path: string, inputSchema: object = schema) => ({
  config: { http: { url: `${upstream.url}${path}`, method: 'GET', inputSchema } },
})
const create = (more: object) => h.mutate('createTool', { name: 'orders', ...more }, 'tool { id version }')

test('a new tool names each placeholder that neither its schema nor a preset has', async () => {
  const refused = await create(http('/orders/{order_id}/{id}?lang={lang}'))
  expect(refused['__typename']).toBe('ValidationError')
  expect(refused['issues'].map(({ path }: { path: string[] }) => path.join('.'))).toEqual([
    'input.config.http.url',
    'input.config.http.url',
  ])
  expect(refused['issues'][0].message).toContain('{order_id}, which is not a property of inputSchema: add')
  const preset = await create({ ...http('/orders/{id}?lang={lang}'), presetParameters: { lang: 'de' } })
  expect(preset['__typename']).toBe('ToolPayload')
  const moved = await h.mutate(
    'updateTool',
    { id: preset['tool'].id, ...http('/v2/{id}/{lang}/{page}') },
    'tool { id }',
  )
  expect(moved['issues']).toEqual([
    { path: ['input', 'config', 'http', 'url'], message: expect.stringContaining('{page}') },
  ])
  const unset = await h.mutate('updateTool', { id: preset['tool'].id, presetParameters: {} }, 'tool { id }')
  expect(unset['issues'][0].message).toContain('{lang}')
  await h.mutate('deleteTool', { id: preset['tool'].id }, 'tool { id }')
})

test('a tool that was saved before the rule runs, and its gate and words are changed; a new placeholder is refused', async () => {
  const { tool } = await create(http('/orders/{id}'))
  const { db } = h.app.services
  const old = JSON.stringify(`${upstream.url}/orders/{order_id}`)
  for (const table of ['tools', 'tool_versions'])
    await query(
      db,
      sql`update ${sql.raw(table)} set definition = jsonb_set(definition, '{http,url}', ${old}::jsonb)
        where ${sql.raw(table === 'tools' ? 'id' : 'tool_id')} = ${tool.id}`,
    )
  const words = { id: tool.id, title: 'Orders', gate: { autoApprove: true } }
  const updated = await h.mutate('updateTool', words, 'tool { id title }')
  expect(updated['tool']).toEqual({ id: tool.id, title: 'Orders' })
  const { toolCall } = await h.mutate(
    'callTool',
    { toolId: tool.id, arguments: { order_id: '7' } },
    'toolCall { status }',
  )
  expect(toolCall.status).toBe('SUCCEEDED')
  expect(upstream.seen.at(-1)!.url).toBe('/orders/7')
  const more = await h.mutate(
    'updateTool',
    { id: tool.id, ...http('/orders/{order_id}/{nope}') },
    'tool { id }',
  )
  expect(more['issues'].map(({ message }: { message: string }) => message.slice(0, 25))).toEqual([
    'has the placeholder {nope',
  ])
})

test('optional arguments at the end of the URL are in the query when they are given, and not in the body', async () => {
  const properties = Object.fromEntries(['id', 'lang', 'note'].map((name) => [name, { type: 'string' }]))
  const inputSchema = { type: 'object', properties, required: ['id'] }
  const config = { http: { url: `${upstream.url}/notes/{id}{?lang}`, method: 'POST', inputSchema } }
  const made = await h.mutate('createTool', { name: 'write_note', config }, 'tool { id }')
  const call = async (args: object) => {
    const before = upstream.seen.length
    const input = { toolId: made['tool'].id, arguments: args }
    await h.mutate('callTool', input, 'toolCall { id }')
    await expect.poll(() => upstream.seen.length).toBe(before + 1)
    const { url, body } = upstream.seen[before]!
    return { url, body }
  }
  expect(await call({ id: '1', note: 'x' })).toEqual({ url: '/notes/1', body: '{"note":"x"}' })
  expect(await call({ id: '1', note: 'x', lang: 'de' })).toEqual({
    url: '/notes/1?lang=de',
    body: '{"note":"x"}',
  })
})

/** A tool that echoes a secret or a masked argument reveals it nowhere: not in results, errors, events or logs. */
import { expect, test } from 'vitest'
import { openHarness } from '../support/harness.ts'
import { startLoopback } from '../support/loopback.ts'
import { objectSchema } from '../support/fixtures.ts'
import { startModern } from '../support/upstream-servers.ts'
import { forFile } from '../support/for-file.ts'

const pin = '47110815'

const echo = await forFile(
  startLoopback((request, response) => {
    const given = String(request.headers['x-token'] ?? '')
    const status = request.url.startsWith('/fail') ? 422 : 200
    const body = {
      type: 'text',
      given,
      [given]: 1,
      encoded: encodeURIComponent(given),
      basic: `Basic ${Buffer.from(given).toString('base64')}`,
      sent: JSON.parse(request.body || '{}'),
      number: Number(JSON.parse(request.body || '{}').pin),
      nested: JSON.stringify({ given }),
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }),
)
const upstream = await forFile(startModern())
const h = await forFile(openHarness())
await h.mutate('setSecret', { name: 'TOKEN', value: 'tok_9f8e quoted u' }, 'secret { name }')
await h.mutate('setSecret', { name: 'HEADER', value: 'upstream-token-1' }, 'secret { name }')

const told = [
  'tok_9f8e',
  encodeURIComponent('tok_9f8e quoted u'),
  Buffer.from('tok_9f8e quoted u').toString('base64'),
]

/** Everything that members of the project and subscribers can read about a call. */
async function everythingAbout(id: string): Promise<string> {
  const call = await h.gql(
    'query($id: ID!) { toolCall(id: $id) { status errorCode content structuredContent arguments attempts { startedAt } } }',
    { id },
  )
  expect(call.errors).toBeUndefined()
  const events = await h.collect(
    `subscription { projectEvents(after: "0") { __typename cursor ... on ToolCallSettledEvent { toolCall { id content } } } }`,
    {},
    (seen) => seen.some((event) => event.toolCall?.id === id),
  )
  return JSON.stringify([call, events])
}

test.each(['/ok', '/fail'])(
  'an http tool (%s) that echoes its secret header and a masked argument',
  async (path) => {
    const http = {
      url: `${echo.url}${path}`,
      headers: { 'x-token': '{{secret:TOKEN}}' },
      inputSchema: objectSchema({ pin: { type: 'string', writeOnly: true }, note: { type: 'string' } }),
    }
    const { tool } = await h.mutate(
      'createTool',
      { name: `echo_${path.slice(1)}`, config: { http } },
      'tool { id }',
    )
    const args = { pin, note: 'stays' }
    const { toolCall } = await h.mutate(
      'callTool',
      { toolId: tool.id, arguments: args },
      'toolCall { id status }',
    )
    expect(echo.seen.at(-1)!.headers['x-token']).toBe('tok_9f8e quoted u')
    expect(JSON.parse(echo.seen.at(-1)!.body)).toEqual(args)
    const shown = await everythingAbout(toolCall.id)
    expect(shown).toContain('stays')
    expect(shown).toContain('[masked]')
    for (const value of [...told, pin]) expect(shown).not.toContain(value)
  },
)

test('an upstream that echoes its credential in its list, a result and an error', async () => {
  const leak = 'You sent upstream-token-1.'
  const { tools } = upstream
  tools.set('leak', {
    tool: { name: 'leak', description: leak },
    run: () => ({ content: [{ type: 'text', text: leak }] }),
  })
  tools.set('fail', {
    tool: { name: 'fail', description: 'Fails.' },
    run: () => {
      throw new Error(leak)
    },
  })
  const mcp = { url: upstream.url, headers: { 'x-key': '{{secret:HEADER}}' } }
  const { tool } = await h.mutate('createTool', { name: 'far', config: { mcp } }, 'tool { id }')
  const listed = await h.gql(
    'query($id: ID!) { tool(id: $id) { ... on McpTool { actions { runtimeName description } upstream { tools { name description } } } } }',
    { id: tool.id },
  )
  expect(JSON.stringify(listed)).toContain('You sent [masked].')
  expect(JSON.stringify(listed)).not.toContain('upstream-token-1')
  for (const action of ['leak', 'fail']) {
    const { toolCall } = await h.mutate(
      'callTool',
      { toolId: tool.id, action, arguments: {} },
      'toolCall { id }',
    )
    const shown = await everythingAbout(toolCall.id)
    expect(shown).toContain('You sent [masked].')
    expect(shown).not.toContain('upstream-token-1')
  }
})

/** Published examples of plain JSON-RPC callers, verbatim except for host, id and key, against the demo agent. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { callRaw, rpc } from '../../support/bridge.ts'
import { adminKey, openHarness } from '../../support/harness.ts'
import { startLoopback } from '../../support/loopback.ts'
import { objectSchema } from '../../support/fixtures.ts'
import { forFile } from '../../support/for-file.ts'

const h = await forFile(openHarness({ demo: true }))
const upstream = await forFile(
  startLoopback((request, response) => {
    if (request.url.startsWith('/never')) return
    response.writeHead(500, { 'content-type': 'text/plain' }).end('permission denied')
  }),
)
const url: string = `${h.url}/${h.app.demo!.agentId}/mcp`

/** The commands of BeeOS's MCP tools reference, "Example: full flow". */
const listLine = String.raw`curl -s -X POST "https://mcp.beeos.ai/${'${AGENT_ID}'}/mcp" \
  -H "X-Agent-API-Key: bak_YOUR_KEY" \
  -H "Content-Type: application/json" \
  -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | jq '.result.tools[].name'`
const callLine = String.raw`curl -s -X POST "https://mcp.beeos.ai/${'${AGENT_ID}'}/mcp" \
  -H "X-Agent-API-Key: bak_YOUR_KEY" \
  -H "Content-Type: application/json" \
  -d '{
    "jsonrpc":"2.0",
    "id":2,
    "method":"tools/call",
    "params":{
      "name":"web_search",
      "arguments":{"query":"BeeOS"}
    }
  }' | jq '.result.content[0].text'`

const run = promisify(execFile)
const hasCurl = await run('sh', ['-c', 'command -v curl && command -v jq']).then(
  () => true,
  () => false,
)
if (!hasCurl) console.warn('SKIPPED LOUDLY: no curl or no jq here; the published command lines are not run.')

async function shell(line: string): Promise<string> {
  const own = line.replace('https://mcp.beeos.ai', h.url).replace('bak_YOUR_KEY', adminKey)
  const { stdout } = await run('sh', ['-c', own], {
    env: { PATH: process.env['PATH']!, AGENT_ID: h.app.demo!.agentId },
  })
  return stdout
}

describe.skipIf(!hasCurl)('the published command lines', () => {
  test('print the names of the tools, one on each line', async () => {
    const names = (await shell(listLine)).trim().split('\n')
    expect(names).toEqual(expect.arrayContaining(['"get_weather"', '"web_search"', '"save_csv"', '"demo"']))
    expect(names).not.toContain('"read_local_file"')
  })

  test('print the text of the result', async () => {
    expect(JSON.parse(await shell(callLine))).toMatch(/^Here are the top 5 results for 'BeeOS':\n\n1\. /)
  })
})

describe('the published requests', () => {
  test('tools/list shows name, description and inputSchema, and nothing of the presets', async () => {
    const { body } = await rpc(url, adminKey, '{"jsonrpc": "2.0","id": 1,"method": "tools/list"}')
    const byName = new Map<string, any>(body['result'].tools.map((tool: any) => [tool.name, tool]))
    expect(body).toMatchObject({ jsonrpc: '2.0', id: 1 })
    expect(byName.get('save_csv')).toMatchObject({
      description: 'Save parsed invoice data as a CSV file to the shared drive',
      inputSchema: {
        type: 'object',
        properties: {
          filename: { type: 'string', description: 'Output filename without extension' },
          rows: {
            type: 'array',
            items: {
              type: 'object',
              properties: {
                date: { type: 'string' },
                amount: { type: 'number' },
                vendor: { type: 'string' },
              },
            },
          },
        },
        required: ['filename', 'rows'],
      },
    })
    expect(byName.get('web_search').inputSchema).toMatchObject({
      properties: { query: { type: 'string' }, max_results: { type: 'integer', default: 5 } },
      required: ['query'],
    })
    expect(JSON.stringify(byName.get('get_weather'))).not.toContain('unit')
  })

  test('responses to callers without streams come in one piece, with their length', async () => {
    for (const method of ['tools/list', 'ping']) {
      const { headers, body } = await rpc(url, adminKey, { jsonrpc: '2.0', id: 1, method })
      expect(headers.get('transfer-encoding')).toBeNull()
      expect(Number(headers.get('content-length'))).toBe(Buffer.byteLength(JSON.stringify(body)))
    }
  })

  test('the save_csv example returns the published text', async () => {
    const message = String.raw`{
  "jsonrpc": "2.0",
  "id": 2,
  "method": "tools/call",
  "params": {
    "name": "save_csv",
    "arguments": {
      "filename": "invoice-2024-001",
      "rows": [
        { "date": "2024-01-15", "amount": 1250.00, "vendor": "Acme Corp" },
        { "date": "2024-01-16", "amount": 890.50, "vendor": "Widget Inc" }
      ]
    }
  }
}`
    const { body } = await rpc(url, adminKey, message)
    expect(body).toMatchObject({ jsonrpc: '2.0', id: 2 })
    expect(body['result'].content).toEqual([
      { type: 'text', text: 'CSV saved to /shared/invoices/invoice-2024-001.csv (2 rows)' },
    ])
    expect(body['result'].isError).toBe(false)
  })

  test('a tool that fails is a result with isError and its message in the text', async () => {
    const { status, body } = await callRaw(url, adminKey, 'save_csv', { filename: '../x', rows: [] })
    expect(status).toBe(200)
    expect(body['error']).toBeUndefined()
    expect(body['result'].isError).toBe(true)
    expect(body['result'].content[0].text).toContain(
      'Failed to save CSV: permission denied on /shared/invoices/',
    )
  })

  test('the web_search example takes max_results', async () => {
    const args = { query: 'BeeOS AI agent platform', max_results: 3 }
    const { body } = await callRaw(url, adminKey, 'web_search', args)
    expect(body['result'].content[0].text).toMatch(
      /^Here are the top 3 results for 'BeeOS AI agent platform':\n\n1\. /,
    )
  })
})

describe('the published error codes', () => {
  async function agentWith(tool: object): Promise<string> {
    const made = await h.mutate('createTool', tool, 'tool { id }')
    const name = `for ${made['tool'].id}`
    const input = { name, toolIds: [made['tool'].id], mcp: { enabled: true } }
    return `${h.url}/mcp/${(await h.mutate('createAgent', input, 'agent { id }'))['agent'].id}`
  }
  const tool = (name: string, path: string, more: object = {}) => ({
    name,
    config: { http: { url: `${upstream.url}${path}`, method: 'GET', inputSchema: objectSchema({}) } },
    ...more,
  })

  test('-32601: unknown tool', async () => {
    const { status, body } = await callRaw(url, adminKey, 'fly', {})
    expect([status, body['error'].code, body['error'].data.type]).toEqual([200, -32601, 'unknown_tool'])
  })

  test('-32602: invalid arguments, with their paths in data', async () => {
    const { body } = await callRaw(url, adminKey, 'web_search', { max_results: 'many' })
    expect(body['error']).toMatchObject({
      code: -32602,
      data: {
        type: 'invalid_arguments',
        issues: expect.arrayContaining([
          { path: ['arguments', 'query'], message: 'is required' },
          { path: ['arguments', 'max_results'], message: 'must be integer' },
        ]),
      },
    })
  })

  test('-32003: timeout, with the published message', async () => {
    const slow = await agentWith(tool('slow', '/never', { timeoutMs: 50 }))
    const { body } = await callRaw(slow, adminKey, 'slow', {})
    expect(body['error']).toEqual({
      code: -32003,
      message: 'Agent reply timeout',
      data: { type: 'agent_timeout', retryable: true, call_id: expect.stringMatching(/^call_/) },
    })
  })

  test('the same faults are results for a client that names a protocol version', async () => {
    const slow = await agentWith(tool('slow_too', '/never', { timeoutMs: 50 }))
    const headers = { 'mcp-protocol-version': '2025-11-25' }
    const unknown = await callRaw(url, adminKey, 'fly', {}, headers)
    expect(unknown.body['error']).toMatchObject({ code: -32602, message: 'Unknown tool: fly' })
    const faulty = await callRaw(url, adminKey, 'web_search', {}, headers)
    expect(faulty.body['result']).toMatchObject({
      isError: true,
      structuredContent: { error: { type: 'invalid_arguments', issues: [{ path: ['arguments', 'query'] }] } },
    })
    const late = await callRaw(slow, adminKey, 'slow_too', {}, headers)
    expect(late.body['result']).toMatchObject({
      isError: true,
      structuredContent: { error: { type: 'agent_timeout', retryable: true } },
    })
  })

  test('an agent may fix its numbers, whoever asks', async () => {
    const spec = await agentWith(tool('any', '/x'))
    const id = spec.split('/').at(-1)!
    await h.mutate('updateAgent', { id, mcp: { enabled: true, errorProfile: 'SPEC' } }, 'agent { id }')
    expect((await callRaw(spec, adminKey, 'fly', {})).body['error'].code).toBe(-32602)
    await h.mutate('updateAgent', { id, mcp: { enabled: true, errorProfile: 'SEED' } }, 'agent { id }')
    const headers = { 'mcp-protocol-version': '2025-11-25' }
    expect((await callRaw(spec, adminKey, 'fly', {}, headers)).body['error'].code).toBe(-32601)
  })
})

describe('running the agent', () => {
  test('its tool returns the final text of a run', async () => {
    const { body } = await callRaw(url, adminKey, 'demo', { message: 'call get_weather {"city":"Rome"}' })
    expect(body['result'].isError).toBe(false)
    expect(body['result'].content[0].text).toContain('"city":"Rome"')
  })

  test('a conversation_id continues the first conversation, a call without one starts another', async () => {
    const first = await callRaw(url, adminKey, 'demo', { message: 'hello' })
    const conversation = first.body['result']._meta['gatehouse/conversation_id']
    const second = await callRaw(url, adminKey, 'demo', { message: 'again', conversation_id: conversation })
    const other = await callRaw(url, adminKey, 'demo', { message: 'again' })
    expect(second.body['result']._meta['gatehouse/conversation_id']).toBe(conversation)
    expect(other.body['result']._meta['gatehouse/conversation_id']).not.toBe(conversation)
    const threads = await h.gql('query($t: ID!) { generations(filter: { threadId: $t }) { nodes { id } } }', {
      t: conversation,
    })
    expect(threads.data['generations'].nodes).toHaveLength(2)
  })

  test('an attachment that is not a known file is refused with its path, an empty list is not', async () => {
    const refused = await callRaw(url, adminKey, 'demo', {
      message: 'read it',
      attachments: [{ file_id: 'file_abc123', filename: 'q3.pdf' }],
    })
    expect(refused.body['error']).toMatchObject({
      code: -32602,
      data: { issues: [{ path: ['arguments', 'attachments', '0', 'file_id'] }] },
    })
    const fine = await callRaw(url, adminKey, 'web_search', { query: 'x', attachments: [] })
    expect(fine.body['result'].isError).toBe(false)
  })
})

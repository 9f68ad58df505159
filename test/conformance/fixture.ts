/** The agent `conformance`: simple tools are http tools, the others come from a foreign MCP server. */
import type { ServerResponse } from 'node:http'
import type { Harness } from '../support/harness.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { objectSchema } from '../support/fixtures.ts'
import { startFixtureUpstream } from './upstream.ts'

export interface Fixture {
  agentId: string
  close(): Promise<void>
}

/** One red pixel. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
/** A WAV file without a sample. */
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA='

/** Makes the upstream, and the agent `conformance` through the public API. */
export async function makeFixture(h: Harness): Promise<Fixture> {
  const timers = new Set<NodeJS.Timeout>()
  const later = (ms: number, work: () => void) => void timers.add(setTimeout(work, ms))
  const upstream = await startLoopback(({ url, body }, response) => {
    const args = body ? (JSON.parse(body) as Record<string, unknown>) : {}
    answer(new URL(url, 'http://x').pathname.slice(1), args, response, later)
  })
  const far = await startFixtureUpstream()
  const toolIds = [...(await makeTools(h, upstream)), ...(await makeMcpTools(h, far.url))]
  const { agent } = await h.mutate(
    'createAgent',
    { name: 'conformance', toolIds, mcp: { enabled: true } },
    'agent { id }',
  )
  return {
    agentId: agent.id,
    close: async () => {
      timers.forEach((timer) => clearTimeout(timer))
      await Promise.all([upstream.close(), far.close()])
    },
  }
}

function answer(
  name: string,
  args: Record<string, unknown>,
  response: ServerResponse,
  later: (ms: number, work: () => void) => void,
): void {
  const text = (status: number, words: string) =>
    response.writeHead(status, { 'content-type': 'text/plain' }).end(words)
  const bytes = (type: string, base64: string) =>
    response.writeHead(200, { 'content-type': type }).end(Buffer.from(base64, 'base64'))
  const routes: Record<string, () => void> = {
    test_simple_text: () => text(200, 'This is a simple text response for testing.'),
    test_image_content: () => bytes('image/png', png),
    test_audio_content: () => bytes('audio/wav', wav),
    test_error_handling: () => text(500, 'This tool intentionally returns an error for testing'),
    greet: () => text(200, `Hello, ${String(args['name'])}!`),
    slow_compute: () =>
      later(Number(args['seconds']) * 1000, () => text(200, `computed ${String(args['label'])}`)),
    failing_job: () => later(1000, () => text(500, 'the job failed')),
  }
  ;(routes[name] ?? (() => text(200, 'ok')))()
}

async function makeTools(h: Harness, upstream: Loopback): Promise<string[]> {
  const none = objectSchema({})
  const make = async (name: string, inputSchema: object, more: object = {}) => {
    const http = { url: `${upstream.url}/${name}`, method: 'POST', inputSchema }
    const input = { name, description: name, config: { http }, ...more }
    const made = await h.mutate('createTool', input, 'tool { id }')
    if (!made['tool']) throw new Error(JSON.stringify(made))
    return made['tool'].id as string
  }
  return [
    await make('test_simple_text', none),
    await make('test_image_content', none),
    await make('test_audio_content', none),
    await make('test_error_handling', none),
    await make('greet', objectSchema({ name: { type: 'string' } }, ['name'])),
    await make(
      'slow_compute',
      objectSchema({ seconds: { type: 'number' }, label: { type: 'string' } }, ['seconds']),
      { idempotent: true },
    ),
    await make('failing_job', none, { task: { mode: 'REQUIRED' } }),
    await make('json_schema_2020_12_tool', schema2020),
    await make(
      'test_x_mcp_header',
      objectSchema({ region: { type: 'string', 'x-mcp-header': 'Region' } }, ['region']),
    ),
  ]
}

/** One mcp tool for each group: its name is the first part of theirs. */
async function makeMcpTools(h: Harness, far: string): Promise<string[]> {
  const relay = { resources: ['*'], prompts: ['*'] }
  const inTask = { inputPhase: 'IN_TASK' }
  const made = Object.entries({
    test: {},
    protocol: {},
    confirm: inTask,
    multi: inTask,
    test_tool: { mode: 'REQUIRED' },
  }).map(async ([name, task]) => {
    const input = { name, task, config: { mcp: { url: `${far}/${name}`, relay } } }
    const { tool } = await h.mutate('createTool', input, 'tool { id ... on McpTool { actions { action } } }')
    if (!tool?.actions.length) throw new Error(`nothing was found behind ${name}`)
    return tool.id as string
  })
  return Promise.all(made)
}

/** Word for word what the suite describes. */
const schema2020 = JSON.parse(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {
    "address": {
      "$anchor": "addressDef",
      "type": "object",
      "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
    }
  },
  "properties": {
    "name": { "type": "string" },
    "address": { "$ref": "#/$defs/address" },
    "contactMethod": { "type": "string", "enum": ["phone", "email"] },
    "phone": { "type": "string" },
    "email": { "type": "string" }
  },
  "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
  "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
  "then": { "required": ["phone"] },
  "else": { "required": ["email"] },
  "additionalProperties": false
}`) as object

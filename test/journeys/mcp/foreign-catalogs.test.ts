/**
 * The catalogs of popular MCP servers, as they were recorded: every tool is offered to the official clients and to every
 * provider, with schemas of which validators that share no code with ours say the same. Two of the servers run and are called.
 */
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/json.ts'
import { compileSchema } from '../../../src/core/json-schema.ts'
import { openModel } from '../../../src/domain/models/providers/open-model.ts'
import { runtimeName } from '../../../src/domain/tools/fields.ts'
import { attemptOf, requestOf } from '../../support/conversation.ts'
import { openHarness } from '../../support/harness.ts'
import { connectV1, connectV2 } from '../../support/mcp-clients.ts'
import { describeWithPeers } from '../../support/peers.ts'
import { respond, type Scripted, type ScriptedMcp, startScriptedMcp } from '../../support/scripted-mcp.ts'
import { secondOpinions } from '../../support/second-opinions.ts'
import { startStrictProvider } from '../../support/strict-provider.ts'
import { type RunningServer, startEverything, startFilesystem } from '../../support/upstream-servers.ts'
import type { Wire } from '../../support/wire-frames.ts'
import { forFile } from '../../support/for-file.ts'
import { readdirSync, readFileSync } from 'node:fs'

/** Values for a JSON Schema of a tool: one with everything, one with as little as it may have, and variants that break rules. */
type Schema = Record<string, any>

const formats: Record<string, string> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T10:00:00Z',
  email: 'a@example.com',
  uri: 'https://example.com/a',
  uuid: '7d444840-9dc0-41d1-b245-5ffdce74fad2',
}
const wrong = [null, true, 7, -1.5, 'x', '', [], [1], {}, { a: 1 }]

/** At most some hundreds. Whether they fit is for validators to say: not every rule of the schema is followed. */
function samplesFor(schema: Schema): unknown[] {
  const full = valueFor(schema, schema, true, 0)
  const least = valueFor(schema, schema, false, 0)
  const bases = [full, least, {}, ...variantsOf(full, 0), ...variantsOf(least, 0)]
  return [...new Map(bases.map((one) => [JSON.stringify(one), one])).values(), ...wrong]
}

function valueFor(given: unknown, root: Schema, isFull: boolean, depth: number): unknown {
  if (typeof given !== 'object' || given === null || depth > 6) return 'x'
  const schema = given as Schema
  if (typeof schema['$ref'] === 'string')
    return valueFor(targetOf(root, schema['$ref']), root, isFull, depth + 1)
  if (schema['const'] !== undefined) return schema['const']
  if (schema['enum']) return schema['enum'].at(isFull ? -1 : 0)
  const [first] = schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf'] ?? []
  if (first !== undefined && schema['properties'] === undefined)
    return valueFor(first, root, isFull, depth + 1)
  const type = [schema['type'] ?? (schema['properties'] ? 'object' : 'string')].flat()[0]
  if (type === 'object') return objectFor(schema, root, isFull, depth)
  if (type === 'array') {
    const count = Math.max(schema['minItems'] ?? 0, isFull ? 1 : 0)
    const item = valueFor(schema['items'] ?? schema['prefixItems']?.[0] ?? {}, root, isFull, depth + 1)
    return Array.from({ length: Math.min(count, 5) }, () => item)
  }
  if (type === 'integer' || type === 'number') return schema['minimum'] ?? schema['maximum'] ?? 1
  if (type === 'boolean') return isFull
  if (type === 'null') return null
  return formats[schema['format']] ?? 'x'.repeat(Math.min(Math.max(schema['minLength'] ?? 1, 1), 100))
}

function objectFor(schema: Schema, root: Schema, isFull: boolean, depth: number): unknown {
  const names = Object.keys(schema['properties'] ?? {})
  const shown = isFull ? names : names.filter((name) => schema['required']?.includes(name))
  return Object.fromEntries(
    shown.map((name) => [name, valueFor(schema['properties'][name], root, isFull, depth + 1)]),
  )
}

/** The value without each member, with each member of another type, and with one more; the same inside, down to a depth. */
function variantsOf(value: unknown, depth: number): unknown[] {
  if (typeof value !== 'object' || value === null || depth > 2) return []
  if (Array.isArray(value)) return variantsOf(value[0], depth + 1).map((one) => [one])
  const members = Object.entries(value)
  return [
    { ...value, unknown_member: 1 },
    ...members.flatMap(([name, one]) => {
      const { [name]: _out, ...rest } = value as Record<string, unknown>
      const others = [...wrong.slice(depth, depth + 5), ...variantsOf(one, depth + 1)]
      return [rest, ...others.map((other) => ({ ...value, [name]: other }))]
    }),
  ].slice(0, 300)
}

function targetOf(root: Schema, ref: string): unknown {
  return ref
    .split('/')
    .slice(1)
    .reduce(
      (at: any, part) => at?.[decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')],
      root,
    )
}

/** What MCP servers of npm answered to tools/list: see tools/record-catalogs.mjs. */
const catalogs = join(import.meta.dirname, '../../support/catalogs')

interface RecordedTool {
  name: string
  inputSchema: object
  outputSchema?: object
}

interface RecordedCatalog {
  /** The package and its version, as `name@1.2.3`. */
  name: string
  tools: RecordedTool[]
  /** Answers tools/list with what the server sent, byte for byte but for the id of the request. */
  list: Scripted
}

const recordedCatalogs: RecordedCatalog[] = readdirSync(catalogs)
  .toSorted()
  .map((file) => {
    const text = readFileSync(join(catalogs, file), 'utf8')
    const { package: name, version, pages } = JSON.parse(text)
    const lines = text
      .split('\n')
      .slice(1, -2)
      .map((line) => line.replace(/,$/, ''))
    return {
      name: `${name}@${version}`,
      tools: pages.flatMap((page: { result: { tools: RecordedTool[] } }) => page.result.tools),
      list: (response, id) => {
        // No server pages its list so far; one that does says so here.
        if (lines.length !== 1) return respond(response, 500, { message: `${file} has several pages` })
        const [line] = lines as [string]
        const answer = line.replace(/("id":)\d+(?=\}$)/, `$1${JSON.stringify(id)}`)
        return response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
      },
    }
  })

interface Shown {
  name: string
  description?: string
  inputSchema: object
  outputSchema?: object
}
interface Client {
  listTools(): Promise<{ tools: Shown[] }>
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<Record<string, any>>
}
type Using = <Result>(url: string, work: (client: Client) => Promise<Result>) => Promise<Result>

const h = await forFile(openHarness({}, { mcp: { inlineHoldMs: 100 } }))
const key: string = (await h.mutate('createApiKey', { name: 'caller', role: 'CALLER' }, 'secret'))['secret']
const provider = await forFile(startStrictProvider())

const clients: Record<string, Using> = {
  'SDK v1': async (url, work) => {
    const { client, leave } = await connectV1(url, key)
    return work(client as never).finally(leave)
  },
  'SDK v2, legacy': async (url, work) => {
    const client = await connectV2(url, key, { mode: 'legacy' })
    return work(client as never).finally(() => client.close())
  },
  'SDK v2, modern': async (url, work) => {
    const client = await connectV2(url, key)
    return work(client as never).finally(() => client.close())
  },
}

let made = 0

interface Served {
  /** The address for MCP clients. */
  url: string
  notes: string[]
  nameOf(gate: 'open' | 'gated', tool: string): string
}

/** An agent with the tools of this server twice, open and gated. */
async function serve(upstream: string): Promise<Served> {
  const number = ++made
  const make = (name: string, more: object = {}) =>
    h.mutate(
      'createTool',
      { name: `${name}${number}`, config: { mcp: { url: upstream } }, ...more },
      'tool { id }',
    )
  const [open, gated] = [await make('open'), await make('gated', { gate: { autoApprove: false } })]
  const toolIds = [open['tool'].id, gated['tool'].id]
  for (const toolId of toolIds) await h.mutate('refreshUpstream', { toolId }, 'tool { id }')
  const agent = { name: `teller${number}`, toolIds, mcp: { enabled: true } }
  const { agent: saved } = await h.mutate('createAgent', agent, 'agent { id }')
  const { data } = await h.gql(
    'query($id: ID!) { tool(id: $id) { ... on McpTool { upstream { notes } } } }',
    {
      id: toolIds[0],
    },
  )
  const nameOf = (gate: string, tool: string) => runtimeName([`${gate}${number}`, tool])
  return { url: `${h.url}/mcp/${saved.id}`, notes: data['tool'].upstream.notes, nameOf }
}

/**
 * Each judge says the same of both schemas, and ours what cfworker says. (To hyperjump a format is a note, to both others a
 * rule.) Returns how many values fit.
 */
async function judgeServed(raw: object, served: object): Promise<number> {
  const compiled = compileSchema(served, 'judges')
  if (!compiled.ok) throw new Error(compiled.issue.message)
  const [before, after] = [await secondOpinions(raw), await secondOpinions(served)]
  const samples = samplesFor(raw)
  const disputed = samples.filter((value) => {
    const isFit = after.cfworker(value)
    const ours = compiled.judge(value).fits === 'YES'
    const isSame = before.hyperjump(value) === after.hyperjump(value)
    return isFit !== before.cfworker(value) || isFit !== ours || !isSame
  })
  expect(disputed).toEqual([])
  return samples.filter(after.cfworker).length
}

const wires: [Wire, string][] = [
  ['openai', 'gpt-5'],
  ['anthropic', 'claude-sonnet-4-5'],
  ['google', 'gemini-3-pro-preview'],
  ['compatible', 'local'],
]

test('at least ten servers were recorded', () => expect(recordedCatalogs.length).toBeGreaterThanOrEqual(10))

describe.each(recordedCatalogs.map((one): [string, RecordedCatalog] => [one.name, one]))(
  '%s',
  (_name, catalog) => {
    let upstream: ScriptedMcp
    let served: Served
    beforeAll(async () => {
      upstream = await startScriptedMcp(() => {}, { 'tools/list': catalog.list })
      served = await serve(upstream.url)
    })
    afterAll(() => upstream?.close())

    const listed = (who: string) =>
      clients[who]!(served.url, async (client) => {
        const { tools } = await client.listTools()
        return new Map(tools.map((tool) => [tool.name, tool]))
      })

    test.each(Object.keys(clients))('%s lists every tool, open and gated', async (who) => {
      const names = catalog.tools.flatMap(({ name }) => [
        served.nameOf('open', name),
        served.nameOf('gated', name),
      ])
      const shown = await listed(who)
      expect(names.filter((name) => !shown.has(name))).toEqual([])
      expect(new Set(names).size).toBe(names.length)
    })

    test('judges say the same of what the server sent and what is served', async () => {
      const shown = await listed('SDK v2, modern')
      let fits = 0
      for (const { name, inputSchema, outputSchema } of catalog.tools) {
        const open = shown.get(served.nameOf('open', name))!
        fits += await judgeServed(inputSchema, open.inputSchema)
        if (!outputSchema || served.notes.some((note) => note.includes(`"${name}"`))) continue
        fits += await judgeServed(outputSchema, open.outputSchema!)
        fits += await judgeServed(outputSchema, shown.get(served.nameOf('gated', name))!.outputSchema!)
      }
      expect(fits).toBeGreaterThan(catalog.tools.length)
    })

    test('nothing had to be repaired, and only what is too large is left out', () => {
      const large = catalog.name.startsWith('@brave/')
        ? [expect.stringContaining('more than 1000 objects')]
        : []
      expect(served.notes).toEqual(large)
    })

    test.each(wires)('the %s wire takes every tool', async (wire, model) => {
      const shown = await listed('SDK v2, modern')
      provider.script({ text: 'ok' })
      const port = await openModel(provider.settings(wire), model)
      const tools = [...shown.values()].map(({ name, description, inputSchema }) => ({
        name,
        description: description ?? null,
        inputSchema: inputSchema as JsonObject,
      }))
      await attemptOf(port, requestOf('hi', { tools }))
      expect(provider.journal.at(-1)!.fault).toBeNull()
    })
  },
)

describeWithPeers('servers that run', () => {
  let folder: string
  const running: RunningServer[] = []
  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'gatehouse-served-')))
    await writeFile(join(folder, 'note.txt'), 'remember the milk')
    running.push(await startFilesystem(folder), await startEverything('streamableHttp'))
  })
  afterAll(async () => {
    await Promise.all(running.map((server) => server.kill()))
    await rm(folder, { recursive: true })
  })

  test.each(Object.keys(clients))('%s reads a success and an error of each', async (who) => {
    const files = await serve(running[0]!.url)
    const everything = await serve(running[1]!.url)
    await clients[who]!(files.url, async (client) => {
      await client.listTools()
      const read = async (path: string) =>
        client.callTool({ name: files.nameOf('open', 'read_text_file'), arguments: { path } })
      expect(await read(join(folder, 'note.txt'))).toMatchObject({
        structuredContent: { content: 'remember the milk' },
      })
      expect(await read('/etc/hostname')).toMatchObject({ isError: true })
    })
    await clients[who]!(everything.url, async (client) => {
      await client.listTools()
      const ask = (location: string) =>
        client.callTool({
          name: everything.nameOf('open', 'get-structured-content'),
          arguments: { location },
        })
      expect(await ask('Chicago')).toMatchObject({ structuredContent: { conditions: expect.any(String) } })
      expect(await ask('Oslo')).toMatchObject({ isError: true })
    })
  })
})

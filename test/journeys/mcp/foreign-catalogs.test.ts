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
import { recordedCatalogs, type RecordedCatalog } from '../../support/recorded-catalogs.ts'
import { samplesFor } from '../../support/schema-samples.ts'
import { startScriptedMcp, type ScriptedMcp } from '../../support/scripted-mcp.ts'
import { secondOpinions } from '../../support/second-opinions.ts'
import { startStrictProvider } from '../../support/strict-provider.ts'
import { startEverything, startFilesystem, type RunningServer } from '../../support/upstream-servers.ts'
import type { Wire } from '../../support/wire-frames.ts'
import { forFile } from '../../support/for-file.ts'

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

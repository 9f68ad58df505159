/** Tools that a provider refuses are left out of the request to the model; the run goes on, and so do direct calls. */
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { embeddedDatabase } from '../support/databases.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { objectSchema } from '../support/fixtures.ts'
import { startLoopback } from '../support/loopback.ts'
import { addProvider, startStrictProvider } from '../support/strict-provider.ts'
import { refusing, sentNames, sentTools } from '../support/tool-refusals.ts'
import type { Wire } from '../support/wire-frames.ts'
import { folderForFile, forFile } from '../support/for-file.ts'

let h: Harness

const open = () => openHarness({ leaseMs: 1000 }, { database: { kind: 'pglite', directory } })
const done = ['COMPLETED', 'FAILED']
const ids: Record<string, string> = {}

afterEach(() => expect(provider.clear()).toBe(0))

const inputSchema = objectSchema({ value: { type: 'string' } })

async function make(name: string, config: object, more: object = {}): Promise<void> {
  ids[name] = (await h.mutate('createTool', { name, config, ...more }, 'tool { id }'))['tool'].id
}

const makeHttp = (name: string, more?: object) =>
  make(name, { http: { url: upstream.url, method: 'GET', inputSchema } }, more)

const provider = await forFile(startStrictProvider())
const upstream = await forFile(
  startLoopback((_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}'),
  ),
)
const folder = await folderForFile()
const directory: string = join(folder, 'db')
await embeddedDatabase(folder)
h = await open()
// Each restart opens another one.
afterAll(() => h.stop())
for (const name of ['good', 'bad', 'worse']) await makeHttp(name)
await make('ask', { client: { inputSchema } })

/** A provider and an agent of their own, so that no test knows what another one's model has refused. */
async function agentOn(kind: Wire, name: string, tools: string[], more: object = {}): Promise<string> {
  await addProvider(h, provider, kind, name)
  const toolIds = tools.map((tool) => ids[tool])
  const input = { name, model: `${name}/m`, toolIds, ...more }
  return (await h.mutate('createAgent', input, 'agent { id }'))['agent'].id
}

const start = async (agentId: string) =>
  (await h.mutate('startGeneration', { agentId, prompt: 'Go.' }, 'generation { id }'))['generation']
    .id as string
const fields =
  'steps { attempt leftOut { name toolId reason } failedAttempts { code } } failedAttempts { code } toolCalls { name status errorCode }'
const ended = async (id: string) => h.until(id, done, fields)
const run = async (agentId: string) => ended(await start(agentId))
const leftOutOf = async (agentId: string) =>
  (await h.gql('query($id: ID!) { agent(id: $id) { leftOut { name toolId reason } } }', { id: agentId }))
    .data['agent'].leftOut as { name: string; toolId: string; reason: string }[]
const names = (tools: { name: string }[]) => tools.map(({ name }) => name)
/** The tools of each request since there were so many. */
const requestsSince = (count: number) =>
  provider.journal.slice(count).map(({ wire, body }) => sentNames(wire, body))

const wires = (['openai', 'anthropic', 'google', 'compatible'] as const).flatMap((kind) =>
  (['name', 'place'] as const).map((by) => [kind, by] as const),
)
describe.each(wires)('%s, by %s', (kind, by) => {
  test('one bad tool after another is left out, stays out, and the run says so', async () => {
    const agentId = await agentOn(kind, `${kind}-${by}`, ['bad', 'good', 'worse'])
    provider.refuse(refusing(by, ['bad', 'worse']))
    provider.script({ calls: [{ name: 'good', arguments: '{}' }] }, { text: 'done' }, { text: 'again' })
    const before = provider.journal.length
    const end = await run(agentId)
    expect(end).toMatchObject({
      status: 'COMPLETED',
      output: { text: 'done' },
      toolCalls: [{ name: 'good', status: 'SUCCEEDED' }],
      failedAttempts: [],
    })
    expect(requestsSince(before)).toEqual([['bad', 'good', 'worse'], ['good', 'worse'], ['good'], ['good']])
    for (const step of end['steps']) {
      expect(step.attempt).toBe(1)
      expect(names(step.leftOut)).toEqual(['bad', 'worse'])
      expect(step.leftOut[0]).toMatchObject({
        toolId: ids['bad'],
        reason: expect.stringMatching(/^The provider did not accept the request\. It said: /),
      })
    }
    expect(await leftOutOf(agentId)).toEqual(end['steps'][0].leftOut)
    // The next run of this process does not ask in vain.
    expect(names((await run(agentId))['steps'][0].leftOut)).toEqual(['bad', 'worse'])
    expect(requestsSince(before)).toHaveLength(5)
  })
})

test('a tool that was left out can be called directly, and a new version of it is offered again', async () => {
  await makeHttp('broken')
  const agentId = await agentOn('compatible', 'direct', ['good', 'broken'])
  provider.refuse(refusing('name', ['broken']))
  provider.script({ text: 'one' })
  expect(names((await run(agentId))['steps'][0].leftOut)).toEqual(['broken'])
  const input = { toolId: ids['broken'], arguments: {} }
  const { toolCall } = await h.mutate('callTool', input, 'toolCall { status }')
  expect(toolCall).toEqual({ status: 'SUCCEEDED' })
  await h.mutate('updateTool', { id: ids['broken'], description: 'mended' }, 'tool { version }')
  provider.refuse(() => null)
  provider.script({ text: 'two' })
  expect((await run(agentId))['steps'][0].leftOut).toEqual([])
  expect(await leftOutOf(agentId)).toEqual([])
})

test('a call of a tool that the model did not get is answered as one of an unknown tool', async () => {
  const agentId = await agentOn('compatible', 'unknown', ['good', 'bad'])
  provider.refuse(refusing('place', ['bad']))
  provider.script({ calls: [{ name: 'bad', arguments: '{}' }] }, { text: 'sorry' })
  expect(await run(agentId)).toMatchObject({
    status: 'COMPLETED',
    toolCalls: [{ name: 'bad', errorCode: 'unknown_tool' }],
  })
})

describe('a tool without which the step cannot be made is not left out', () => {
  test.each([
    ['that is forced', 'forced', { toolChoice: { tool: 'bad' } }],
    ['that ends the run', 'ends', { stopConditions: [{ hasToolCall: 'bad' }] }],
  ])('one %s', async (_what, name, more) => {
    const agentId = await agentOn('openai', name, ['good', 'bad'], more)
    provider.refuse(refusing('name', ['bad']))
    const before = provider.journal.length
    const end = await h.until(await start(agentId), done, 'error { code message }')
    expect(end).toMatchObject({ status: 'FAILED', error: { code: 'MODEL_BAD_REQUEST' } })
    expect(end['error'].message).toContain("It said: Invalid schema for function 'bad'")
    expect(requestsSince(before)).toHaveLength(1)
  })

  test('the hidden one for structured output', async () => {
    const agentId = await agentOn('compatible', 'output', ['good'], { outputSchema: inputSchema })
    provider.refuse(refusing('place', ['final_answer']))
    expect(await h.until(await start(agentId), done)).toMatchObject({ status: 'FAILED' })
  })
})

test('a refusal that names no tool fails the run as before', async () => {
  const agentId = await agentOn('compatible', 'grammar', ['good', 'bad'])
  const before = provider.journal.length
  provider.script({ status: 400, message: 'Failed to initialize samplers: failed to parse grammar' })
  expect(await run(agentId)).toMatchObject({
    status: 'FAILED',
    failedAttempts: [{ code: 'MODEL_BAD_REQUEST' }],
  })
  expect(requestsSince(before)).toHaveLength(1)
})

test('a provider that refuses every tool is asked 33 times for a step', async () => {
  const agentId = await agentOn('compatible', 'endless', [])
  const clientTools = Array.from({ length: 40 }, (_, i) => ({ name: `run_${i}`, inputSchema }))
  const input = { agentId, prompt: 'Go.', clientTools }
  provider.refuse(refusing('name', names(clientTools)))
  const before = provider.journal.length
  const { generation } = await h.mutate('startGeneration', input, 'generation { id }')
  expect(await ended(generation.id)).toMatchObject({
    status: 'FAILED',
    failedAttempts: [{ code: 'MODEL_BAD_REQUEST' }],
  })
  expect(provider.journal.length - before).toBe(33)
})

test('a run that goes on in another process does not ask again for what was refused', async () => {
  const agentId = await agentOn('anthropic', 'resumed', ['ask', 'bad'])
  provider.refuse(refusing('place', ['bad']))
  provider.script({ calls: [{ name: 'ask', arguments: '{}' }] })
  const id = await start(agentId)
  const waiting = await h.until(id, ['REQUIRES_ACTION'])
  await h.stop()
  h = await open()
  const before = provider.journal.length
  provider.script({ text: 'done' })
  const toolCallId = waiting['requiredAction'].toolCalls[0].id
  const outputs = [{ toolCallId, output: 'yes' }]
  await h.mutate('submitToolOutputs', { generationId: id, outputs }, 'generation { status }')
  const end = await ended(id)
  expect(end['steps'].map((step: any) => names(step.leftOut))).toEqual([['bad'], ['bad']])
  expect(requestsSince(before)).toEqual([['ask']])
})

test('of more tools than the provider takes the last ones are left out', async () => {
  const agentId = await agentOn('compatible', 'few', ['worse', 'bad', 'good'])
  provider.refuse((wire, body) => {
    const count = sentNames(wire, body).length
    const message = `Invalid 'tools': array too long. Expected an array with maximum length 2, but got an array with length ${count} instead.`
    return count <= 2 ? null : { status: 400, message, code: 'array_above_max_length', param: 'tools' }
  })
  provider.script({ text: 'done' })
  const before = provider.journal.length
  expect((await run(agentId))['steps']).toMatchObject([
    {
      leftOut: [{ name: 'good', reason: 'The model takes at most 2 tools in a request; 1 more were there.' }],
    },
  ])
  expect(requestsSince(before)).toEqual([
    ['worse', 'bad', 'good'],
    ['worse', 'bad'],
  ])
})

test('descriptions are shortened to what the provider takes, and no tool is left out', async () => {
  for (const name of ['long', 'longer']) await makeHttp(name, { description: name.repeat(500) })
  const agentId = await agentOn('openai', 'wordy', ['long', 'longer'])
  provider.refuse((wire, body) => {
    const place = sentTools(wire, body).findIndex(({ description = '' }) => description.length > 1024)
    const param = `tools[${place}].description`
    const message = `Invalid '${param}': string too long. Expected a string with maximum length 1024, but got a string with length 2000 instead.`
    return place < 0 ? null : { status: 400, message, code: 'string_above_max_length', param }
  })
  provider.script({ text: 'done' })
  const before = provider.journal.length
  expect((await run(agentId))['steps']).toMatchObject([{ leftOut: [] }])
  expect(provider.journal.length - before).toBe(2)
  const { wire, body } = provider.journal.at(-1)!
  expect(sentTools(wire, body).map(({ description }) => description!.length)).toEqual([1024, 1024])
})

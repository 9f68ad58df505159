/** The four wire formats end to end: parallel calls, a pause, a restart in between, and seals that come back. */
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { embeddedDatabase } from '../support/databases.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { objectSchema } from '../support/fixtures.ts'
import { startLoopback } from '../support/loopback.ts'
import { addProvider, startStrictProvider } from '../support/strict-provider.ts'
import { folderForFile, forFile } from '../support/for-file.ts'

let h: Harness

const open = () => openHarness({ leaseMs: 1000 }, { database: { kind: 'pglite', directory } })
const done = ['COMPLETED', 'FAILED']

const provider = await forFile(startStrictProvider())
const upstream = await forFile(
  startLoopback((_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"t":21}'),
  ),
)
const folder = await folderForFile()
const directory: string = join(folder, 'db')
await embeddedDatabase(folder)
h = await open()
afterEach(() => expect(provider.clear()).toBe(0))
afterAll(() => h.stop())

describe.each(['openai', 'anthropic', 'google', 'compatible'] as const)('%s', (kind) => {
  let agentId: string

  beforeAll(async () => {
    await addProvider(h, provider, kind, `my-${kind}`)
    const schema = objectSchema({ city: { type: 'string' } }, ['city'])
    const make = async (name: string, config: object) =>
      (await h.mutate('createTool', { name: `${name}_${kind}`, config }, 'tool { id }'))['tool'].id
    const toolIds = [
      await make('weather', { http: { url: `${upstream.url}/{city}`, method: 'GET', inputSchema: schema } }),
      await make('ask', { client: { inputSchema: schema } }),
    ]
    const model = `my-${kind}/${kind === 'openai' ? 'gpt-5' : 'm'}`
    agentId = (await h.mutate('createAgent', { name: `on ${kind}`, model, toolIds }, 'agent { id }'))['agent']
      .id
  })
  const start = async () =>
    (await h.mutate('startGeneration', { agentId, prompt: 'Go.' }, 'generation { id }'))['generation']
      .id as string

  test("runs parallel calls, pauses, restarts, and sends back the model's seals", async () => {
    const args = JSON.stringify({ city: 'Oslo' })
    provider.script({
      reasoning: 'thinking',
      seal: `seal-${kind}`,
      calls: [
        { name: `weather_${kind}`, arguments: args },
        { name: `ask_${kind}`, arguments: args },
      ],
    })
    const id = await start()
    const waiting = await h.until(id, ['REQUIRES_ACTION'])
    await h.stop()
    h = await open()
    provider.script({ text: ['It is ', '21 degrees.'] })
    const toolCallId = waiting['requiredAction'].toolCalls[0].id
    await h.mutate(
      'submitToolOutputs',
      { generationId: id, outputs: [{ toolCallId, output: 'yes' }] },
      'generation { status }',
    )
    const end = await h.until(id, done, 'toolCalls { name status } usage { totalTokens }')
    expect(end).toMatchObject({
      status: 'COMPLETED',
      output: { text: 'It is 21 degrees.' },
      toolCalls: [
        { name: `weather_${kind}`, status: 'SUCCEEDED' },
        { name: `ask_${kind}`, status: 'SUCCEEDED' },
      ],
    })
    expect(provider.journal.at(-1)!.fault).toBeNull()
    if (kind !== 'compatible') expect(JSON.stringify(provider.journal.at(-1)!.body)).toContain(`seal-${kind}`)
  })

  test.each([
    ['429 with Retry-After', { status: 429, headers: { 'retry-after': '1' } }, 'MODEL_RATE_LIMITED'],
    ['529', { status: 529 }, 'MODEL_UNAVAILABLE'],
    ['an answer cut in the middle', { text: ['This is ', 'cut', ' off'], cutAfter: 2 }, 'MODEL_UNAVAILABLE'],
  ])('tries again after %s, and tells subscribers to drop the text', async (_what, failure, reason) => {
    provider.script(failure, { text: 'whole' })
    const asked = Date.now()
    const end = await h.until(
      await start(),
      done,
      'steps { attempt text } events(first: 50) { nodes { type ... on StepResetEvent { attempt reason } } }',
    )
    expect(end).toMatchObject({
      status: 'COMPLETED',
      output: { text: 'whole' },
      steps: [{ attempt: 2, text: 'whole' }],
    })
    expect(end['events'].nodes).toContainEqual({ type: 'STEP_RESET', attempt: 2, reason })
    if (reason === 'MODEL_RATE_LIMITED') expect(Date.now() - asked).toBeGreaterThanOrEqual(1000)
  })

  test('reports malformed arguments to the model and continues', async () => {
    provider.script({ calls: [{ name: `weather_${kind}`, arguments: '{"city": 7}' }] }, { text: 'sorry' })
    const end = await h.until(await start(), done, 'toolCalls { status errorCode }')
    expect(end).toMatchObject({
      status: 'COMPLETED',
      toolCalls: [{ status: 'INVALID', errorCode: 'invalid_arguments' }],
    })
    expect(JSON.stringify(provider.journal.at(-1)!.body)).toContain('invalid_arguments')
  })

  test('a refused key fails the generation without a second attempt', async () => {
    provider.script({ status: 401 })
    expect(await h.until(await start(), done)).toMatchObject({
      status: 'FAILED',
      error: { code: 'MODEL_AUTH' },
    })
  })
})

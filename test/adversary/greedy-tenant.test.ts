/** One tenant uses all that it can get, and another is served as if it were alone. */
import { afterAll, expect, test } from 'vitest'
import { openHarness } from '../support/harness.ts'
import { startLoopback } from '../support/loopback.ts'
import { objectSchema } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

let release = () => {}
const held = new Promise<void>((resolve) => (release = resolve))
const upstream = await forFile(
  startLoopback((request, response) => {
    if (request.url === '/slow') void held.then(() => response.end('{}'))
    else response.end('{}')
  }),
)
const h = await forFile(openHarness({ workerSlots: 8, callSlots: 8 }))
afterAll(() => release())

interface Tenant {
  key: string
  agentId: string
  toolId: string
}

async function tenant(name: string, path: string): Promise<Tenant> {
  const { project } = await h.mutate('createProject', { name }, 'project { id }')
  const by = { name, role: 'ADMIN', projectId: project.id }
  const { secret: key } = await h.mutate('createApiKey', by, 'secret')
  const config = { http: { url: upstream.url + path, inputSchema: objectSchema({}) } }
  const made = await h.mutate(
    'createTool',
    { name: 'work', gate: { autoApprove: true }, config },
    'tool { id }',
    key,
  )
  const toolId = made['tool'].id
  const { agent } = await h.mutate('createAgent', { name: 'a', toolIds: [toolId] }, 'agent { id }', key)
  return { key, agentId: agent.id, toolId }
}

async function start({ key, agentId }: Tenant): Promise<string> {
  const input = { agentId, prompt: 'call work {}\nthen\nsay done' }
  return (await h.mutate('startGeneration', input, 'generation { id }', key))['generation'].id
}

/** Runs generations one after the other to their end. */
async function runs(one: Tenant, count: number): Promise<number[]> {
  const took: number[] = []
  for (let i = 0; i < count; i++) {
    const begun = performance.now()
    const id = await start(one)
    await h.collect(
      'subscription($id: ID!) { generationEvents(generationId: $id) { __typename } }',
      { id },
      (events) => events.at(-1)?.['__typename'] === 'GenerationCompletedEvent',
      one.key,
    )
    took.push(performance.now() - begun)
  }
  return took
}

test('runs of a modest tenant end while a greedy one holds every slot and has a long queue', async () => {
  const [modest, greedy] = [await tenant('modest', '/quick'), await tenant('greedy', '/slow')]
  const alone = await runs(modest, 5)
  await Promise.all(Array.from({ length: 60 }, () => start(greedy)))
  await expect.poll(() => upstream.seen.filter((one) => one.url === '/slow').length).toBe(8)
  const beside = await runs(modest, 10)
  console.log('a modest tenant, ms:', { alone: Math.max(...alone), beside: Math.max(...beside) })
  // None of the greedy runs can end before the modest ones have: without fairness this waits for ever.
  expect(upstream.seen.filter((one) => one.url === '/slow')).toHaveLength(8)
})

test('streams of a key and of a project are limited, and a closed one can be replaced', async () => {
  const few = await openHarness({ maxStreamsPerKey: 4, maxStreamsPerProject: 6 })
  try {
    const keyOf = async (name: string) =>
      (await few.mutate('createApiKey', { name, role: 'VIEWER' }, 'secret'))['secret'] as string
    const [one, two] = [await keyOf('one'), await keyOf('two')]
    const open = async (key: string) => {
      const stop = new AbortController()
      const response = await fetch(`${few.url}/graphql`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'text/event-stream',
          authorization: `Bearer ${key}`,
        },
        body: JSON.stringify({ query: 'subscription { projectEvents { cursor } }' }),
        signal: stop.signal,
      })
      const first = await response.body!.getReader().read()
      return { text: Buffer.from(first.value ?? []).toString(), close: () => stop.abort() }
    }
    const opened = []
    for (let i = 0; i < 4; i++) opened.push(await open(one))
    expect(opened.map(({ text }) => text.includes('errors'))).toEqual([false, false, false, false])
    expect((await open(one)).text).toContain('LIMITED')
    for (let i = 0; i < 2; i++) expect((await open(two)).text).not.toContain('errors')
    expect((await open(two)).text).toContain('LIMITED')
    opened[0]!.close()
    await expect.poll(async () => (await open(two)).text).not.toContain('errors')
  } finally {
    await few.stop()
  }
})

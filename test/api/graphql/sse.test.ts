/** Subscriptions over SSE: they resume after a cursor, and a client that disconnects frees its stream. */
import { createClient, type Client } from 'graphql-sse'
import { expect, test } from 'vitest'
import { adminKey, openHarness } from '../../support/harness.ts'
import { forFile } from '../../support/for-file.ts'

const h = await forFile(openHarness())
const { tool } = await h.mutate(
  'createTool',
  { name: 'look', config: { client: { inputSchema: { type: 'object' } } } },
  'tool { id }',
)
const { agent } = await h.mutate('createAgent', { name: 'teller', toolIds: [tool.id] }, 'agent { id }')
const agentId: string = agent.id

function sse(key = adminKey): Client {
  return createClient({
    url: `${h.url}/graphql`,
    headers: { authorization: `Bearer ${key}` },
    retryAttempts: 0,
  })
}

interface ReceivedEvent {
  type: string
  cursor: string
}

/** Follows a generation until it ends, or until this many events were received. */
async function follow(
  client: Client,
  generationId: string,
  after: string | null,
  enough = Infinity,
): Promise<ReceivedEvent[]> {
  const seen: ReceivedEvent[] = []
  const events = client.iterate<{ generationEvents: ReceivedEvent }>({
    query:
      'subscription($id: ID!, $after: String) { generationEvents(generationId: $id, after: $after) { type cursor } }',
    variables: { id: generationId, after },
  })
  for await (const { data, errors } of events) {
    if (errors) throw new Error(JSON.stringify(errors))
    if (data!.generationEvents.type !== 'TEXT_DELTA') seen.push(data!.generationEvents)
    if (seen.length >= enough) break
  }
  return seen
}

async function start(prompt: string): Promise<string> {
  const { generation } = await h.mutate('startGeneration', { agentId, prompt }, 'generation { id }')
  return generation.id
}

const streams = () => h.app.services.broadcaster.topicCount()

test('a stream that is cut at any event resumes after its cursor without gap or duplicate', async () => {
  const id = await start('hello\nthen\nagain')
  await h.until(id, ['COMPLETED'])
  const whole = await follow(sse(), id, null)
  expect(whole.at(-1)!.type).toBe('GENERATION_COMPLETED')
  for (let cut = 1; cut < whole.length; cut++) {
    const head = await follow(sse(), id, null, cut)
    const tail = await follow(sse(), id, head.at(-1)!.cursor)
    expect([...head, ...tail]).toEqual(whole)
  }
  await expect.poll(streams).toBe(0)
})

test('a client that reconnects while the generation waits receives what it missed and then the rest live', async () => {
  const id = await start('call look {}')
  const head = await follow(sse(), id, null, 2)
  const waiting = await h.until(id, ['REQUIRES_ACTION'])
  const rest = follow(sse(), id, head.at(-1)!.cursor)
  const outputs = [{ toolCallId: waiting['requiredAction'].toolCalls[0].id, output: 'seen' }]
  await h.mutate('submitToolOutputs', { generationId: id, outputs }, 'outcomes { status }')
  const whole = [...head, ...(await rest)]
  expect(whole.at(-1)!.type).toBe('GENERATION_COMPLETED')
  expect(whole).toEqual(await follow(sse(), id, null))
})

test('the call of an event is loaded anew, not cached from an earlier event of the stream', async () => {
  const id = await start('call look {}')
  const statuses: string[] = []
  const events = sse().iterate<any>({
    query: `subscription($id: ID!) { generationEvents(generationId: $id) { __typename
      ... on ToolCallProposedEvent { toolCall { status } } ... on ToolCallSettledEvent { toolCall { status } } } }`,
    variables: { id },
  })
  for await (const { data } of events) {
    const { __typename: name, toolCall } = data.generationEvents
    if (!toolCall) continue
    statuses.push(toolCall.status)
    if (name !== 'ToolCallProposedEvent') continue
    const waiting = await h.until(id, ['REQUIRES_ACTION'])
    const outputs = [{ toolCallId: waiting['requiredAction'].toolCalls[0].id, output: 'seen' }]
    await h.mutate('submitToolOutputs', { generationId: id, outputs }, 'outcomes { status }')
  }
  expect(statuses).toEqual(['AWAITING_CLIENT', 'SUCCEEDED'])
})

test('a client that disconnects frees its stream, whether the stream is quiet or has just begun', async () => {
  const id = await start('call look {}')
  await h.until(id, ['REQUIRES_ACTION'])
  await expect.poll(streams).toBe(0)
  const clients = [sse(), sse(), sse()]
  const ended = clients.map((client) => follow(client, id, null).catch((error: unknown) => error))
  const project = sse()
  const feed = project.iterate({ query: 'subscription { projectEvents { cursor } }' })
  const first = feed.next()
  await expect.poll(streams).toBe(2)
  for (const client of clients) client.dispose()
  await Promise.all(ended)
  await expect.poll(streams).toBe(1)
  project.dispose()
  await first.catch(() => {})
  await expect.poll(streams).toBe(0)
})

test('a connection that is cut without a close frees its stream', async () => {
  const stop = new AbortController()
  const response = await fetch(`${h.url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      authorization: `Bearer ${adminKey}`,
    },
    body: JSON.stringify({ query: 'subscription { projectEvents { cursor } }' }),
    signal: stop.signal,
  })
  expect(response.status).toBe(200)
  await expect.poll(streams).toBe(1)
  stop.abort()
  await expect.poll(streams).toBe(0)
})

test('a refused subscription returns an event with the error and leaves no stream', async () => {
  await expect(follow(sse(), 'gen_none', null)).rejects.toThrow(/NOT_FOUND/)
  const id = await start('hello')
  await expect(follow(sse(), id, 'garbage')).rejects.toThrow(/BAD_CURSOR/)
  await expect.poll(streams).toBe(0)
})

/** Enough to see a stream that does not end behind its error. */
const most = 5

/** Follows the events of the project with a new key to the end of the stream; resolves with the errors of its results. */
async function followFeed(input: object): Promise<{ keyId: string; ended: Promise<unknown> }> {
  const made = await h.mutate(
    'createApiKey',
    { name: 'listener', role: 'VIEWER', ...input },
    'apiKey { id } secret',
  )
  const events = sse(made['secret']).iterate<{ projectEvents: ReceivedEvent }>({
    query: 'subscription { projectEvents(after: "0") { type cursor } }',
  })
  expect((await events.next()).value.data.projectEvents.type).toBeDefined()
  const rest = async () => {
    const found = []
    for await (const { errors } of events) if (errors && found.push(errors) === most) break
    return found
  }
  return { keyId: made['apiKey'].id, ended: rest() }
}

const refused = [
  [expect.objectContaining({ extensions: expect.objectContaining({ code: 'UNAUTHENTICATED' }) })],
]

test('a stream ends with an error when its key is revoked, and not as if it were complete', async () => {
  const { keyId, ended } = await followFeed({})
  await h.mutate('revokeApiKey', { id: keyId }, 'apiKey { id }')
  expect(await ended).toEqual(refused)
  await expect.poll(streams).toBe(0)
})

test('a stream ends with an error when its key expires', async () => {
  const { ended } = await followFeed({ expiresAt: new Date(Date.now() + 1200).toISOString() })
  expect(await ended).toEqual(refused)
  await expect.poll(streams).toBe(0)
})

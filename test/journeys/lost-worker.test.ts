/** A worker dies in the middle: what it sent is repeated only where that is safe, and the run continues. */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { openHarness } from '../support/harness.ts'
import { startLoopback } from '../support/loopback.ts'
import { objectSchema } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

/** Releases the requests that are held back, by path. */
const held = new Map<string, () => void>()

const upstream = await forFile(
  startLoopback((request, response) => {
    const answer = () => response.writeHead(200, { 'content-type': 'text/plain' }).end('late')
    // The first request of each path gets no response until the test releases it.
    if (upstream.seen.filter((seen) => seen.url === request.url).length === 1) held.set(request.url, answer)
    else answer()
  }),
)
const h = await forFile(openHarness())

/** Ends the lease: the row is due again and the next claim raises the epoch. */
async function takeAway(generationId: string): Promise<void> {
  await query(h.app.services.db, sql`update generations set wake_at = now() where id = ${generationId}`)
  h.app.services.pubsub.publish([{ kind: 'work', table: 'generations' }])
}

async function startHanging(name: string, method: string, more = {}): Promise<string> {
  const config = { http: { url: `${upstream.url}/${name}`, method, inputSchema: objectSchema({}) } }
  const { tool } = await h.mutate('createTool', { name, config, ...more }, 'tool { id }')
  const { agent } = await h.mutate('createAgent', { name, toolIds: [tool.id] }, 'agent { id }')
  const prompt = `call ${name} {}\nthen\nsay went on`
  const { generation } = await h.mutate('startGeneration', { agentId: agent.id, prompt }, 'generation { id }')
  const watch = 'subscription($id: ID!) { generationEvents(generationId: $id) { type } }'
  await h.collect(watch, { id: generation.id }, (events) =>
    events.some((event) => event.type === 'TOOL_CALL_STARTED'),
  )
  while (!held.has(`/${name}`)) await new Promise((resolve) => setImmediate(resolve))
  return generation.id
}

const fields = 'toolCalls { id status isError errorCode attempt content }'
const requests = (name: string) => upstream.seen.filter((seen) => seen.url === `/${name}`)

test('a call that is not idempotent becomes UNKNOWN, the model gets that, and it is never sent twice', async () => {
  const id = await startHanging('pay', 'POST')
  await takeAway(id)
  const end = await h.until(id, ['COMPLETED', 'FAILED'], fields)
  expect(end).toMatchObject({
    status: 'COMPLETED',
    output: { text: 'went on' },
    toolCalls: [{ status: 'UNKNOWN', isError: true, errorCode: 'outcome_unknown', attempt: 1 }],
  })
  expect(requests('pay')).toHaveLength(1)
  const { data } = await h.gql('{ toolCalls(filter: { statuses: [UNKNOWN] }) { nodes { id } } }')
  expect(data['toolCalls'].nodes).toEqual([{ id: end['toolCalls'][0].id }])
  // The worker that sent it still runs, and gets the response.
  const resolved = h.collect(
    `subscription { projectEvents(after: "0", types: [UNKNOWN_CALL_RESOLVED]) {
      ... on UnknownCallResolvedEvent { outcome decidedBy toolCall { status attempt attempts { outcome } } } } }`,
    {},
    (events) => events.length === 1,
  )
  held.get('/pay')!()
  expect(await resolved).toEqual([
    {
      outcome: 'SUCCEEDED',
      decidedBy: 'system',
      toolCall: { status: 'SUCCEEDED', attempt: 1, attempts: [{ outcome: 'SUCCEEDED' }] },
    },
  ])
  expect(requests('pay')).toHaveLength(1)
})

test.each([
  ['a GET', 'fetch_it', 'GET', {}],
  ['a POST that says it is idempotent', 'put_it', 'POST', { idempotent: true }],
  ['a POST with the idempotent hint', 'hint_it', 'POST', { annotations: { idempotentHint: true } }],
])('%s is sent again under the same key', async (_what, name, method, more) => {
  const id = await startHanging(name, method, more)
  await takeAway(id)
  const end = await h.until(id, ['COMPLETED', 'FAILED'], fields)
  expect(end).toMatchObject({ status: 'COMPLETED', toolCalls: [{ status: 'SUCCEEDED', attempt: 2 }] })
  const keys = requests(name).map((seen) => seen.headers['idempotency-key'])
  expect(keys).toEqual([end['toolCalls'][0].id, end['toolCalls'][0].id])
})

test('a GET with idempotent: false is not repeated', async () => {
  const id = await startHanging('count_it', 'GET', { idempotent: false })
  await takeAway(id)
  expect(await h.until(id, ['COMPLETED', 'FAILED'], fields)).toMatchObject({
    toolCalls: [{ status: 'UNKNOWN' }],
  })
  expect(requests('count_it')).toHaveLength(1)
})

test('a model response that was cut is requested again, both attempts count, and subscribers drop its text', async () => {
  const { agent } = await h.mutate('createAgent', { name: 'talker' }, 'agent { id }')
  const prompt = 'slow 150ms\nsay one two three four five six seven eight'
  const { generation } = await h.mutate('startGeneration', { agentId: agent.id, prompt }, 'generation { id }')
  const watch = `subscription($id: ID!) { generationEvents(generationId: $id) { type ... on TextDeltaEvent { attempt offset text }
    ... on StepResetEvent { attempt reason } } }`
  let cutting: Promise<void> | undefined
  const events = await h.collect(watch, { id: generation.id }, (seen) => {
    if (seen.at(-1).type === 'TEXT_DELTA') cutting ??= takeAway(generation.id)
    return false
  })
  await cutting
  expect(events).toContainEqual({ type: 'STEP_RESET', attempt: 2, reason: 'WORKER_LOST' })
  const second = events.filter((event) => event.type === 'TEXT_DELTA' && event.attempt === 2)
  expect(second.map((event) => event.text).join('')).toBe('one two three four five six seven eight')
  const end = await h.until(generation.id, ['COMPLETED'], 'steps { attempt }')
  expect(end).toMatchObject({
    output: { text: 'one two three four five six seven eight' },
    steps: [{ attempt: 2 }],
  })
})

test('an internal error ends the generation instead of repeating for ever', async () => {
  const { agent } = await h.mutate('createAgent', { name: 'unlucky' }, 'agent { id }')
  const open = h.app.models.open
  Object.assign(h.app.models, { open: () => Promise.reject(new TypeError('a bug')) })
  const { generation } = await h.mutate(
    'startGeneration',
    { agentId: agent.id, prompt: 'hi' },
    'generation { id }',
  )
  const end = await h.until(generation.id, ['COMPLETED', 'FAILED'])
  Object.assign(h.app.models, { open })
  expect(end).toMatchObject({ status: 'FAILED', error: { code: 'INTERNAL' } })
  expect(end['error'].message).not.toContain('a bug')
})

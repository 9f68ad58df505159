/** Hundreds of callers that wait for calls cost the database as much as one. */
import { expect, test } from 'vitest'
import { aroundStatements } from '../support/around-statements.ts'
import { callRaw } from '../support/bridge.ts'
import { gateFixtures } from '../support/gate-fixtures.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { watchPlaces } from '../support/held-places.ts'
import { startLoopback } from '../support/loopback.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

let answers: (() => void)[] = []

const h = await forFile(openHarness({ databaseUrl: null }, { mcp: { inlineHoldMs: 60_000 } }))
const slow = await forFile(
  startLoopback((request, response) => void answers.push(() => response.end(`did ${request.body}`))),
)
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)

/**
 * Counts the statements that read calls for their callers; the returned function gives the count so far. The poll of the
 * schedule, one for all that waits in the process, names the table too (test/store/schedule.test.ts counts it).
 */
function countReads(): () => number {
  const { db } = h.app.services
  let reads = 0
  const stop = aroundStatements(db, ({ text, execute }) => {
    const isRead = text.startsWith('select') || text.startsWith('with asked')
    if (isRead && text.includes('tool_calls') && !text.includes('unnumbered')) reads++
    return execute()
  })
  return () => {
    stop()
    return reads
  }
}

/** Makes requests, and resolves when so many of them wait. */
async function allWait<T>(count: number, make: () => T): Promise<T> {
  const { data } = await h.gql('{ viewer { id } }')
  const places = watchPlaces([h], data['viewer'].id)
  const made = make()
  await places.until(count)
  places.stop()
  return made
}

/** Publishes events of the project for this long; returns the time that passed, in milliseconds. */
async function news(forMs: number): Promise<number> {
  const { data } = await h.gql('{ viewer { project { id } } }')
  const projectId = data['viewer'].project.id as string
  const begun = performance.now()
  while (performance.now() - begun < forMs) {
    h.app.services.pubsub.publish([{ kind: 'news', projectId, generationId: null, seq: null }])
    await new Promise((resolve) => setImmediate(resolve))
  }
  return performance.now() - begun
}

const until = async (isSo: () => boolean) => {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}

async function slowTool(name: string, more: object = {}) {
  const http = { url: `${slow.url}/${name}`, inputSchema: objectSchema({ n: { type: 'number' } }) }
  const { tool } = await h.mutate('createTool', { name, config: { http }, ...more }, 'tool { id }')
  return tool.id as string
}

test('200 callers that wait for running calls read at most once in 25 ms, whatever happens in the project', async () => {
  answers = []
  const toolId = await slowTool('slow')
  const first = Array.from({ length: 20 }, (_, n) => gate.call(toolId, { n }, { idempotencyKey: `k${n}` }))
  await until(() => answers.length === 20)
  const joined = await allWait(200, () =>
    Array.from({ length: 200 }, (_, i) => gate.call(toolId, { n: i % 20 }, { idempotencyKey: `k${i % 20}` })),
  )
  // Each reads its call once more.
  await news(500)
  const reads = countReads()
  const elapsed = await news(1000)
  expect(reads()).toBeLessThanOrEqual(elapsed / 25 + 2)
  const ending = countReads()
  const begun = performance.now()
  answers.forEach((answer) => answer())
  const done = await Promise.all([...first, ...joined])
  // One read of the versions and one of the changes, in each interval.
  expect(ending()).toBeLessThanOrEqual(((performance.now() - begun) / 25) * 2 + 2)
  expect(new Set(done.map((call) => call['status']))).toEqual(new Set(['SUCCEEDED']))
  expect(slow.seen).toHaveLength(20)
})

test('a hundred callers of one project that wait for twenty calls cost one statement for an event', async () => {
  answers = []
  const toolId = await slowTool('shared')
  const key = (n: number) => ({ idempotencyKey: `shared${n}` })
  const first = Array.from({ length: 20 }, (_, n) => gate.call(toolId, { n }, key(n)))
  await until(() => answers.length === 20)
  const joined = Array.from({ length: 100 }, (_, i) => gate.call(toolId, { n: i % 20 }, key(i % 20)))
  const { data } = await h.gql(
    'query($t: ID!) { toolCalls(filter: { toolId: $t }, first: 50) { nodes { id } } }',
    {
      t: toolId,
    },
  )
  const ids = (data['toolCalls'].nodes as { id: string }[]).map(({ id }) => id)
  expect(ids).toHaveLength(20)
  const { db } = h.app.services
  let stop = () => {}
  // Whoever waits already is read for by each poll: the last one to join is in the first that names all.
  const readTogether = new Promise<string[]>((resolve) => {
    stop = aroundStatements(db, ({ text, params, execute }) => {
      const asked = text.startsWith('with asked') ? (JSON.parse(params[0] as string) as string[]) : []
      if (asked.length >= 20) resolve(asked)
      return execute()
    })
  })
  await news(50)
  expect((await readTogether).toSorted()).toEqual(ids.toSorted())
  stop()
  answers.forEach((answer) => answer())
  await Promise.all([...first, ...joined])
})

test('callers over the bridge that wait for approvals are woken by their own calls only', async () => {
  answers = []
  const toolId = await slowTool('gated_slow', { gate: { autoApprove: false } })
  const agentId = await fixtures.agent({ toolIds: [toolId], mcp: { enabled: true } })
  const wire = { 'mcp-protocol-version': '2025-11-25' }
  const waiting = await allWait(50, () =>
    Array.from({ length: 50 }, (_, n) =>
      callRaw(`${h.url}/mcp/${agentId}`, adminKey, 'gated_slow', { n }, wire),
    ),
  )
  const pending = async () =>
    (
      await h.gql(
        'query($t: ID!) { approvals(filter: { toolId: $t, statuses: [PENDING] }, first: 100) { nodes { id } } }',
        {
          t: toolId,
        },
      )
    ).data['approvals'].nodes as { id: string }[]
  await expect.poll(pending).toHaveLength(50)
  await news(300)
  const reads = countReads()
  const elapsed = await news(1000)
  expect(reads()).toBeLessThanOrEqual(elapsed / 25 + 2)
  for (const { id } of await pending()) await gate.decide(id, 'APPROVE')
  await until(() => answers.length === 50)
  answers.forEach((answer) => answer())
  const texts = (await Promise.all(waiting)).map(({ body }) => body['result'].content[0].text)
  expect(texts.toSorted()).toEqual(Array.from({ length: 50 }, (_, n) => `did {"n":${n}}`).toSorted())
})

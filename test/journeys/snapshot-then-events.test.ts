/** A list and a subscription begun from the cursor that was read with it miss nothing, whenever a question is asked. */
import { createClient } from 'graphql-ws'
import { afterAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { dose } from '../support/dose.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'

const closers: (() => unknown)[] = []
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

const snapshot = `query($project: ID!) { project(id: $project) { feedCursor }
  approvals(filter: { statuses: [PENDING] }, first: 100) { nodes { arguments } } }`
const events = `subscription($after: String) { projectEvents(after: $after, types: [APPROVAL_REQUESTED]) {
  ... on ApprovalRequestedEvent { approval { id arguments } } } }`

const pause = (milliseconds: number) =>
  milliseconds ? new Promise<void>((resolve) => setTimeout(resolve, milliseconds)) : Promise.resolve()

interface AskedCall {
  arguments: { round: number }
}

async function open(databaseUrl: string | null): Promise<{ h: Harness; toolId: string; projectId: string }> {
  const h = await openHarness({ databaseUrl })
  closers.push(() => h.stop())
  const inputSchema = { type: 'object', properties: { round: { type: 'number' } } }
  // Every question is rejected, so nothing is ever sent there.
  const config = { http: { url: 'http://127.0.0.1:9/', method: 'POST', inputSchema } }
  const made = await h.mutate(
    'createTool',
    { name: 'count', config, gate: { mode: 'ALWAYS' } },
    'tool { id }',
  )
  const projectId = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project.id as string
  return { h, toolId: made['tool'].id, projectId }
}

/**
 * In each round a question is asked while a client reads the list with its cursor, a little earlier or later each time;
 * then the client subscribes from the cursor. Returns the rounds whose question was in neither.
 */
async function missed(databaseUrl: string | null, rounds: number): Promise<Record<string, number>> {
  const { h, toolId, projectId } = await open(databaseUrl)
  const client = createClient({
    url: `${h.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${adminKey}` },
  })
  closers.push(() => client.dispose())
  const ways = { inList: 0, inEvents: 0 }
  for (let round = 0; round < rounds; round++) {
    const ask = async () => {
      const input = { toolId, arguments: { round } }
      const { toolCall } = await h.mutate('callTool', input, 'toolCall { approval { id } }')
      return toolCall.approval.id as string
    }
    // By turns the list is read before, while, and after the question is written.
    const [readAfter, askAfter] = [
      [0, round % 7],
      [0, 0],
      [round % 7, 0],
    ][round % 3]!
    const [{ data }, approvalId] = await Promise.all([
      pause(readAfter!).then(() => h.gql(snapshot, { project: projectId })),
      pause(askAfter!).then(ask),
    ])
    const listed = (data['approvals'].nodes as AskedCall[]).some((one) => one.arguments.round === round)
    if (listed) ways.inList++
    else if (await heard(client, data['project'].feedCursor as string, round)) ways.inEvents++
    await h.mutate('decideApproval', { approvalId, verdict: 'REJECT' }, 'approval { id }')
  }
  return { ...ways, missed: rounds - ways.inList - ways.inEvents }
}

/** Whether the subscription begun at the cursor has the question of this round, within a minute. */
function heard(client: ReturnType<typeof createClient>, after: string, round: number): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (found: boolean) => {
      clearTimeout(timer)
      stop()
      resolve(found)
    }
    const timer = setTimeout(() => end(false), 60_000)
    const stop = client.subscribe<{ projectEvents: { approval: AskedCall } }>(
      { query: events, variables: { after } },
      {
        next: ({ data }) => {
          if (data?.projectEvents.approval.arguments.round === round) end(true)
        },
        error: () => end(false),
        complete: () => {},
      },
    )
  })
}

describe('a question asked while the list is read', { timeout: 900_000 }, () => {
  test.skipIf(!hasPostgres)('is in the list or in the events, many times over, on PostgreSQL', async () => {
    const made = await postgresDatabase()
    closers.push(() => made.drop())
    const ways = await missed(made.url, dose(140, 1000))
    expect(ways['missed']).toBe(0)
    // Both happened: the race was met.
    expect(Math.min(ways['inList']!, ways['inEvents']!)).toBeGreaterThan(0)
  })

  test('is in the list or in the events, many times over, embedded', async () => {
    const ways = await missed(null, dose(56, 200))
    expect(ways['missed']).toBe(0)
    expect(Math.min(ways['inList']!, ways['inEvents']!)).toBeGreaterThan(0)
  })
})

/** Shared by the chapters of the demo: the running server, the results so far, and the text of an event. */
import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { ask, mutate } from '../../test/support/ask.ts'
import { startReplica, type Replica } from '../../test/support/replica.ts'
import { dim, event, say, verdict } from './screen.ts'
import type { Watch, WatchedEvent } from './watch.ts'

const leaseMs = 1500
export const key = `gh_${randomBytes(32).toString('base64url')}`
const entry = resolve(import.meta.dirname, '../../dist/main.js')

/** The running process. */
export const running: { server: Replica | null } = { server: null }
/** Whether every guarantee so far held. */
export const story = { allHeld: true }

export function check(held: boolean, words: string): void {
  story.allHeld &&= held
  verdict(held, words)
}

/** Starts the server, which replaces the one before, with more environment variables when given. */
export async function start(dataDir: string, port: number, more: Record<string, string> = {}): Promise<void> {
  const began = Date.now()
  const server = startReplica(entry, {
    GATEHOUSE_PORT: String(port),
    GATEHOUSE_DATA_DIR: dataDir,
    GATEHOUSE_ADMIN_KEY: key,
    GATEHOUSE_LEASE_MS: String(leaseMs),
    GATEHOUSE_LOG_LEVEL: 'warn',
    ...more,
  })
  running.server = server
  await server.ready
  say(`listening on ${server.url} after ${((Date.now() - began) / 1000).toFixed(1)} s, process ${server.pid}`)
}

export async function startGeneration(url: string, prompt: string): Promise<string> {
  const found = await ask(url, key, '{ agents(first: 100) { nodes { id name } } }')
  const agent = found.data['agents'].nodes.find((one: { name: string }) => one.name === 'demo')
  for (const row of prompt.split('\n')) say(dim(`> ${row}`))
  const input = { agentId: agent.id, prompt }
  const { generation } = await mutate(url, key, 'startGeneration', input, 'generation { id }')
  return generation.id
}

export function tell(from: WatchedEvent): void {
  event(from.seq, from.type, detailOf(from))
}

function detailOf(from: WatchedEvent): string {
  const call = from['toolCall'] as { arguments: object } | undefined
  const calls = from['toolCalls'] as { name: string; arguments: object }[] | undefined
  if (calls) return calls.map((one) => `${one.name} ${JSON.stringify(one.arguments)}`).join(', ')
  if (from.type === 'STEP_RESET')
    return `${String(from['reason'])}: the text so far is void, attempt ${String(from['attempt'])} begins`
  const approval = from['approval'] as { arguments?: object } | undefined
  if (approval?.arguments) return `${String(from['name'])} ${JSON.stringify(approval.arguments)}`
  const words = [
    from['name'],
    from['verdict'],
    call && JSON.stringify(call.arguments),
    from['status'],
    from['stopReason'],
  ]
  return words.filter(Boolean).join(' ')
}

/** Compares the events of the subscription with the log as a polling client reads it. */
async function logOf(url: string, id: string): Promise<string[]> {
  const query = 'query($id: ID!) { generation(id: $id) { events(first: 100) { nodes { cursor } } } }'
  const { data } = await ask(url, key, query, { id })
  return data['generation'].events.nodes.map((node: { cursor: string }) => node.cursor)
}

export async function checkSequence(url: string, id: string, watch: Watch): Promise<void> {
  const numbers = watch.events.map((one) => one.seq)
  const exact = numbers.every((seq, i) => seq === i + 1)
  check(
    exact && numbers.length > 0,
    `the subscription gave events 1 to ${numbers.length}: no gap, no duplicate`,
  )
  const log = await logOf(url, id)
  const same = log.length === numbers.length && log.every((cursor, i) => cursor === watch.events[i]!.cursor)
  check(same, `the log, read page by page, holds the same ${log.length} events under the same cursors`)
}

/**
 * kill -9 in the middle of a chat's stream: the page resumes at the process that comes next, and shows every part once.
 * The run goes on by itself, and no call is executed twice.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openChat, partsOf, type FrontEnd } from '../api/chat/front-end.ts'
import { mutate } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { startReplica, type Replica } from '../support/replica.ts'

const key = 'gh_kill_operator_0123456789012345678901234567890123456'
const first = 'alpha bravo charlie delta echo foxtrot golf hotel india juliett'
const second = 'kilo lima mike november oscar papa quebec romeo sierra tango'
const prompt = `slow 20ms\nsay ${first}\ncall pay {}\nthen\nslow 20ms\nsay ${second}`

let upstream: Loopback
let entry: string
let settings: Record<string, string>
let replica: Replica
let folder: string

beforeAll(async () => {
  entry = (await buildServer()).entry
  upstream = await startLoopback((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"paid":true}')
  })
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-chat-'))
  settings = {
    GATEHOUSE_DATA_DIR: folder,
    GATEHOUSE_PORT: '0',
    GATEHOUSE_DEMO: 'false',
    GATEHOUSE_ADMIN_KEY: key,
    GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    GATEHOUSE_LEASE_MS: '1000',
    GATEHOUSE_EGRESS_ALLOW: upstream.address,
    GATEHOUSE_LOG_LEVEL: 'error',
  }
  await start()
  const config = { http: { url: `${upstream.url}/pay`, inputSchema: { type: 'object' } } }
  const made = await mutate(replica.url, key, 'createTool', { name: 'pay', config }, 'tool { id }')
  const agent = { name: 'teller', model: 'builtin/rehearsal', toolIds: [made['tool'].id] }
  await mutate(replica.url, key, 'createAgent', agent, 'agent { id }')
})
afterAll(async () => {
  await replica?.kill()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

async function start(): Promise<void> {
  replica = startReplica(entry, settings)
  await replica.ready
}

const places: [string, (shown: unknown[]) => boolean][] = [
  ['in the first text', (shown) => String(shown[1] ?? '').includes('charlie')],
  ['after the call', (shown) => shown.includes('tool-pay output-available')],
  ['in the second text', (shown) => String(shown.at(-1)).includes('mike')],
]

test.each(places)('killed %s', { timeout: 60_000 }, async (_where, isPlace) => {
  const before = upstream.seen.length
  const chat = openChat(replica.url, key, 'teller')
  const cut = chat.sendMessage({ text: prompt })
  await expect
    .poll(() => chat.lastMessage?.role === 'assistant' && isPlace(partsOf(chat)), {
      interval: 2,
      timeout: 20_000,
    })
    .toBe(true)
  await replica.kill()
  await cut
  await start()
  const next: FrontEnd = openChat(replica.url, key, 'teller', { id: chat.id, messages: chat.messages })
  await next.resumeStream()
  expect(next.error).toBeUndefined()
  expect(partsOf(next)).toEqual(['step-start', first, 'tool-pay output-available', 'step-start', second])
  expect(next.messages).toHaveLength(2)
  expect(upstream.seen.length - before).toBe(1)
})

/**
 * kill -9 in the middle of a streamed task: the client comes back to the process that comes next, gets the task as it is
 * and the rest of its text, and no call is executed twice. The message that began the task finds it again.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StreamResponse } from '@a2a-js/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  collect,
  data,
  foldStream,
  message,
  ofTask,
  openClient,
  questionsOf,
  send,
  stateOf,
  textsOf,
} from '../api/a2a/clients.ts'
import { mutate } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { dose } from '../support/dose.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { startReplica, type Replica } from '../support/replica.ts'

const key = 'gh_kill_operator_0123456789012345678901234567890123456'
const first = 'alpha bravo charlie delta echo foxtrot golf hotel india juliett'
const second = 'kilo lima mike november oscar papa quebec romeo sierra tango'
const prompt = `slow 20ms\nsay ${first}\ncall pay {}\nthen\nslow 20ms\nsay ${second}`

// What is tested is above the store: one database by default, both with `npm run chaos`.
const kinds = ['PGlite', ...(hasPostgres ? ['PostgreSQL'] : [])].slice(-dose(1, 2))

describe.each(kinds)('on %s', (kind) => {
  let upstream: Loopback
  let entry: string
  let settings: Record<string, string>
  let replica: Replica
  const closers: (() => unknown)[] = []

  beforeAll(async () => {
    entry = (await buildServer()).entry
    upstream = await startLoopback((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"paid":true}')
    })
    closers.push(() => upstream.close())
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-a2a-'))
    closers.push(() => rm(folder, { recursive: true, force: true }))
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
    if (kind === 'PostgreSQL') {
      const database = await postgresDatabase()
      closers.push(() => database.drop())
      settings['DATABASE_URL'] = database.url
    }
    await start()
    const config = { http: { url: `${upstream.url}/pay`, inputSchema: { type: 'object' } } }
    const made = await mutate(replica.url, key, 'createTool', { name: 'pay', config }, 'tool { id }')
    const agent = { model: 'builtin/rehearsal', toolIds: [made['tool'].id] }
    await mutate(replica.url, key, 'createAgent', { name: 'teller', ...agent }, 'agent { id }')
    const gate = { mode: 'ALWAYS' }
    await mutate(replica.url, key, 'createAgent', { name: 'careful', ...agent, gate }, 'agent { id }')
  })
  afterAll(async () => {
    await replica?.kill()
    for (const close of closers.toReversed()) await close()
  })
  const start = async () => {
    replica = startReplica(entry, settings)
    await replica.ready
  }

  /** Where the process is killed, by what the client has then. */
  const places: [string, (texts: Record<string, string>) => boolean][] = [
    ['before any text', () => true],
    ['in the first text', (texts) => (texts['text-1'] ?? '').includes('charlie')],
    ['in the second text', (texts) => (texts['text-2'] ?? '').includes('mike')],
  ]
  test.each(places)('killed %s', { timeout: 60_000 }, async (_where, isPlace) => {
    const before = upstream.seen.length
    const client = await openClient(replica.url, 'teller', key)
    const request = message(prompt)
    const got: StreamResponse[] = []
    const cut = (async () => {
      for await (const event of client.sendMessageStream(request)) {
        got.push(event)
        if (isPlace(foldStream(got).texts)) return replica.kill()
      }
      throw new Error('The task ended before the kill.')
    })()
    await cut
    const { id } = foldStream(got)
    await start()
    const next = await openClient(replica.url, 'teller', key)
    got.push(...(await collect(next.resubscribeTask({ tenant: '', id }))))
    const seen = foldStream(got)
    const whole = { 'text-1': first, 'text-2': second }
    expect(seen.texts, 'the pieces are the text').toEqual(whole)
    expect(seen.states.at(-1)).toBe('COMPLETED')
    const read = await next.getTask(ofTask(id))
    expect(textsOf(read)).toEqual(whole)
    expect(await send(next, request), 'the message finds its task again').toEqual(read)
    expect(upstream.seen.length - before).toBe(1)
  })

  test(
    'killed while it asks: the question is asked again, and its answer runs the call once',
    {
      timeout: 60_000,
    },
    async () => {
      const before = upstream.seen.length
      const client = await openClient(replica.url, 'careful', key)
      const waiting = await send(client, message('call pay {}\nthen\nsay paid'))
      await replica.kill()
      await start()
      const next = await openClient(replica.url, 'careful', key)
      const again = await next.getTask(ofTask(waiting.id))
      expect(again).toEqual(waiting)
      const answer = data({ approvalId: questionsOf(again)[0]!['approvalId'], verdict: 'APPROVE' })
      const request = message([answer], { taskId: waiting.id })
      // The process is killed when the verdict is on its way: it was given or not, and giving it again is safe.
      const lost = send(next, request).catch(() => null)
      await replica.kill()
      await lost
      await start()
      const last = await openClient(replica.url, 'careful', key)
      expect(stateOf(await send(last, request))).toBe('COMPLETED')
      expect(upstream.seen.length - before).toBe(1)
    },
  )
})

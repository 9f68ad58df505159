/**
 * Replicas and connectors that are killed and frozen while calls are on their way to a stdio server: each ran at most once, those
 * that succeeded exactly once, and what is not UNKNOWN is known.
 */
import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { command, type Running } from '../cli/command.ts'
import { ask, mutate, mutationText } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { dose } from '../support/dose.ts'
import { randomSchedule } from '../support/random.ts'
import { startReplica, type Replica } from '../support/replica.ts'

const random = randomSchedule()
const key = 'gh_conn_operator_0123456789012345678901234567890123456'
const program = join(import.meta.dirname, '../support/stdio-server.mjs')
const patience = { timeout: 180_000 }
const rounds = dose(6, 60)
const closers: (() => unknown)[] = []
let folder: string
let entry: string
let databaseUrl: string
let replicas: Replica[]
let balancer: { url: string; ready(): Replica[] }
let rows: (text: string) => Promise<Record<string, any>[]>

beforeAll(async () => {
  if (!hasPostgres) return
  entry = (await buildServer()).entry
  const database = await postgresDatabase()
  closers.push(() => database.drop())
  databaseUrl = database.url
  const sql = postgres(databaseUrl, { max: 2, onnotice: () => {}, connection: { application_name: 'judge' } })
  closers.push(() => sql.end({ timeout: 1 }))
  rows = (text) => sql.unsafe(text) as unknown as Promise<Record<string, any>[]>
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-connectors-'))
  closers.push(() => rm(folder, { recursive: true, force: true }))
  replicas = [start(), start()]
  await Promise.all(replicas.map((one) => one.ready))
  balancer = await startBalancer()
})
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

function start(): Replica {
  const replica = startReplica(entry, {
    DATABASE_URL: databaseUrl,
    GATEHOUSE_PORT: '0',
    GATEHOUSE_DEMO: 'false',
    GATEHOUSE_ADMIN_KEY: key,
    GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    GATEHOUSE_LEASE_MS: '3000',
    GATEHOUSE_TOOL_TIMEOUT_MS: '60000',
    GATEHOUSE_REQUESTS_PER_MINUTE: '1000000',
    GATEHOUSE_LOG_LEVEL: 'error',
  })
  closers.push(() => replica.kill())
  return replica
}

/** One address for connectors: their connections go to the ready replicas in turn. */
async function startBalancer() {
  const sockets = new Set<Socket>()
  const made = { url: '', ready: () => replicas }
  let turn = 0
  const server = createServer((near) => {
    const ready = made.ready()
    const { url } = ready[turn++ % ready.length]!
    const far = connect(Number(new URL(url || 'http://x:1').port), '127.0.0.1')
    const end = () => {
      for (const socket of [near, far]) socket.destroy()
      sockets.delete(near)
    }
    sockets.add(near)
    for (const socket of [near, far]) socket.on('error', end).on('close', end)
    near.pipe(far).pipe(near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  made.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return made
}

interface Supervised {
  /** The process of now. */
  running(): Running
  /** The texts of the calls that its servers have run. */
  ran(): Promise<string[]>
  /** What the command says when it is connected, from its next start on. */
  connected(): Promise<void>
  stop(): void
}

/** A connector that is started again whenever it ends, as a supervisor does. */
async function supervise(name: string): Promise<Supervised> {
  const file = join(folder, name)
  let stopped = false
  const begin = () =>
    command(['connect', name, '--', process.execPath, program, file], {
      GATEHOUSE_URL: balancer.url,
      GATEHOUSE_KEY: key,
    })
  let running = await begin()
  const again = async () => {
    for (;;) {
      await running.ended
      if (stopped) return
      await wait(100)
      running = await begin()
    }
  }
  void again()
  const stop = () => {
    stopped = true
    running.signal('SIGCONT')
    running.signal('SIGKILL')
  }
  closers.push(stop)
  return {
    running: () => running,
    ran: async () =>
      (await readFile(file, 'utf8').catch(() => ''))
        .split('\n')
        .slice(0, -1)
        .filter((line) => !line.startsWith('started'))
        .map((line) => line.replace(/^\w+ /, '')),
    connected: () => running.until(`Connected as ${name}`),
    stop,
  }
}

async function toolFor(name: string, more: object = {}): Promise<string> {
  const input = { name, config: { mcp: { url: `connector:${name}` } }, ...more }
  return (await mutate(replicas[0]!.url, key, 'createTool', input, 'tool { id }'))['tool'].id
}

const callText = mutationText('callTool', 'toolCall { id status approval { id } }')

/** Asks any replica for the call under its key until one has answered. */
async function call(
  toolId: string,
  action: string,
  text: string,
  anyUrl: () => string,
): Promise<Record<string, any>> {
  const input = { toolId, action, arguments: { text }, idempotencyKey: text }
  for (;;) {
    const signal = AbortSignal.timeout(60_000)
    const asked = ask(anyUrl(), key, callText, { input }).catch(() => null)
    const answer = await Promise.race([asked, wait(5000, null, { ref: false })])
    signal.throwIfAborted()
    const made = answer?.data?.['callTool']
    if (made?.toolCall) return made.toolCall
    await wait(100)
  }
}

const anyUrl = () => replicas[Math.floor(random() * replicas.length)]!.url

describe.runIf(hasPostgres)('two replicas', () => {
  test('a replica that freezes while it waits for messages costs no call of its connector', async () => {
    const [hung, other] = replicas as [Replica, Replica]
    balancer.ready = () => [hung]
    const connector = await supervise('frozen')
    await connector.connected()
    const toolId = await toolFor('frozen')
    const file = join(folder, 'thawed')
    const calling = call(toolId, 'until', file, () => other.url)
    await expect.poll(connector.ran, patience).toContain(file)
    const seen = async () =>
      String((await rows(`select seen_at from connectors where name = 'frozen'`))[0]!['seen_at'])
    hung.freeze()
    try {
      balancer.ready = () => [other]
      const before = await seen()
      await expect.poll(seen, patience).not.toBe(before)
      await writeFile(file, '')
      expect(await calling).toMatchObject({ status: 'SUCCEEDED' })
    } finally {
      hung.thaw()
      balancer.ready = () => replicas
      connector.stop()
    }
  }, 360_000)

  test(
    'whatever is killed and frozen, calls run at most once, and once when they succeeded',
    { timeout: 360_000 + rounds * 30_000 },
    async () => {
      const names = ['alpha', 'beta']
      const connectors = await Promise.all(names.map(supervise))
      await Promise.all(connectors.map((one) => one.connected()))
      const open = await Promise.all(names.map((name) => toolFor(name)))
      const gated = await mutate(
        replicas[0]!.url,
        key,
        'createTool',
        { name: 'gated', gate: { autoApprove: false }, config: { mcp: { url: 'connector:alpha' } } },
        'tool { id }',
      )
      const tools = [...open, gated['tool'].id as string]
      let loading = true
      const texts: string[] = []
      const load = async () => {
        while (loading) {
          const text = randomUUID()
          texts.push(text)
          await call(tools[Math.floor(random() * tools.length)]!, 'note', text, anyUrl)
          await wait(random() * 100)
        }
      }
      const people = async () => {
        while (loading) {
          const waiting = await rows(`select id from approvals where status = 'PENDING' limit 5`)
          for (const { id } of waiting)
            await mutate(
              anyUrl(),
              key,
              'decideApproval',
              { approvalId: id, verdict: 'APPROVE' },
              'approval { id }',
            ).catch(() => {})
          await wait(50)
        }
      }
      const work = [load(), load(), load(), load(), people()]
      const faults: Record<string, () => Promise<void>> = {
        async 'a replica is killed'() {
          const [lost] = replicas.splice(Math.floor(random() * 2), 1)
          await lost!.kill()
          const next = start()
          await next.ready
          replicas.push(next)
        },
        async 'a replica is frozen'() {
          const frozen = replicas[Math.floor(random() * 2)]!
          frozen.freeze()
          // Longer than its leases.
          await wait(3000 + random() * 3000)
          frozen.thaw()
        },
        async 'a connector is killed'() {
          const { running } = connectors[Math.floor(random() * 2)]!
          running().signal('SIGKILL')
          // As after the seconds that its name is kept.
          await running().ended
          await rows(`update connectors set seen_at = now() - interval '15 seconds'`)
        },
        async 'the database ends its connections'() {
          await rows(
            `select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and application_name <> 'judge'`,
          )
        },
        async 'all is paused'() {
          const { viewer } = (
            await ask<Record<string, any>>(replicas[0]!.url, key, '{ viewer { project { id } } }')
          ).data!
          const input = { projectId: viewer.project.id }
          const { pause } = await mutate(replicas[0]!.url, key, 'pause', input, 'pause { id }')
          // What was sent before is at the servers by then.
          await wait(500)
          const all = () => Promise.all(connectors.map((one) => one.ran()))
          const before = await all()
          await wait(1000)
          expect(await all(), 'what ran during a pause').toEqual(before)
          await mutate(replicas[0]!.url, key, 'resume', { pauseId: pause.id }, 'pause { id }')
        },
        async 'a connector is frozen'() {
          const { running } = connectors[Math.floor(random() * 2)]!
          const frozen = running()
          frozen.signal('SIGSTOP')
          await wait(500 + random() * 2500)
          frozen.signal('SIGCONT')
        },
      }
      const kinds = Object.keys(faults)
      const offset = Math.floor(random() * kinds.length)
      for (let round = 0; round < rounds; round++) {
        await wait(500 + random() * 1000)
        await faults[kinds[(offset + round) % kinds.length]!]!()
      }
      loading = false
      await Promise.all(work)
      const unsettled = `select id, status from tool_calls where settled_at is null`
      await expect
        .poll(async () => {
          for (const { id } of await rows(`select id from approvals where status = 'PENDING'`))
            await mutate(
              anyUrl(),
              key,
              'decideApproval',
              { approvalId: id, verdict: 'APPROVE' },
              'approval { id }',
            )
          return rows(unsettled)
        }, patience)
        .toEqual([])

      const ran = new Map<string, number>()
      for (const text of (await Promise.all(connectors.map((one) => one.ran()))).flat())
        ran.set(text, (ran.get(text) ?? 0) + 1)
      const calls = await rows(
        `select id, status, error_code as code, attempt, arguments->>'text' as text from tool_calls
        where tool_id in (${tools.map((id) => `'${id}'`).join()})`,
      )
      // None was lost, and none doubled by its key.
      expect(calls.map((one) => one['text']).toSorted()).toEqual(texts.toSorted())
      const wrong = calls.filter(({ status, text }) => {
        const times = ran.get(text) ?? 0
        if (status === 'SUCCEEDED') return times !== 1
        return status === 'UNKNOWN' ? times > 1 : times > 0
      })
      expect(wrong, 'calls whose status does not say how often they ran').toEqual([])
      const count = (wanted: string) => calls.filter(({ status }) => status === wanted).length
      console.log(
        `connectors: ${calls.length} calls, ${count('SUCCEEDED')} succeeded, ${count('UNKNOWN')} unknown, ${count('ERRORED')} did not run`,
      )
      expect(count('SUCCEEDED')).toBeGreaterThan(0)
      for (const one of connectors) one.stop()
    },
  )
})

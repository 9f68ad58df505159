/** When rows are due: found by a timer, by a hint, or by the next poll when every hint is lost. */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { connect, type Connection } from '../../src/store/db/connect.ts'
import { query, type Database } from '../../src/store/db/database.ts'
import { migrate } from '../../src/store/db/migrate.ts'
import { localPubSub, type PubSub } from '../../src/store/pubsub/pubsub.ts'
import { appendProjectEvents } from '../../src/store/events/log.ts'
import { numberAll } from '../../src/store/events/numbering.ts'
import {
  watchChanges,
  startSchedule,
  type LogState,
  type Schedule,
  type ScheduleOptions,
} from '../../src/store/work/schedule.ts'
import { hasPostgres, memoryDatabase, postgresDatabase } from '../support/databases.ts'
import { makeGenerations, someEvents } from '../support/log-writer.ts'
import { oneLine } from '../support/one-line.ts'

/** Longer than any test: what is found within it was found by a timer or a hint. */
const never = 600_000

/** The database, which counts the polls of a schedule and makes those fail or hang that `fate` says. */
function watched(db: Database, fate: () => 'pass' | 'fail' | 'hang' = () => 'pass') {
  const polls = { count: 0 }
  const seen = new Proxy(db, {
    get(target, name) {
      if (name !== 'execute') return Reflect.get(target, name) as unknown
      return (statement: Parameters<Database['execute']>[0]) => {
        if (!oneLine(JSON.stringify(statement)).includes('unnumbered')) return target.execute(statement)
        polls.count++
        const what = fate()
        if (what === 'fail') return Promise.reject(new Error('away'))
        return what === 'hang' ? new Promise(() => {}) : target.execute(statement)
      }
    },
  })
  return { db: seen, polls }
}

function open(db: Database, pubsub: PubSub, options: ScheduleOptions): Schedule {
  const schedule = startSchedule(db, pubsub, options)
  onTestFinished(() => schedule.close())
  return schedule
}

/** Resolves at the next call. */
function nextDue(schedule: Schedule, table: Parameters<Schedule['onDue']>[0] = 'generations'): Promise<void> {
  return new Promise((resolve) => {
    const leave = schedule.onDue(table, () => {
      leave()
      resolve()
    })
  })
}

const nextPoll = (schedule: Schedule) =>
  new Promise<LogState | null>((resolve) => {
    const leave = schedule.onPoll((log) => {
      leave()
      resolve(log)
    })
  })

function suite(openDatabase: () => Promise<Connection & { drop?(): Promise<void> }>) {
  let connection: Awaited<ReturnType<typeof openDatabase>>
  const db = () => connection.db
  beforeAll(async () => {
    connection = await openDatabase()
  })
  afterAll(async () => {
    await connection?.close()
    await connection?.drop?.()
  })
  const wakeIn = (id: string, ms: number) =>
    query(
      db(),
      sql`update generations set wake_at = clock_timestamp() + ${ms}::float8 * interval '1 millisecond'
        where id = ${id}`,
    )
  async function waiting(): Promise<string> {
    await query(db(), sql`update generations set wake_at = null`)
    const [id] = await makeGenerations(db(), 'proj_schedule', 1)
    return id!
  }
  const lateMs = async (id: string) =>
    (
      await query<{ ms: number }>(
        db(),
        sql`select (extract(epoch from clock_timestamp() - wake_at) * 1000)::float8 as ms from generations where id = ${id}`,
      )
    )[0]!.ms

  test('a known deadline is met by a timer, not by the next poll', async () => {
    const id = await waiting()
    await wakeIn(id, 700)
    const { db: counted, polls } = watched(db())
    const schedule = open(counted, localPubSub(), { everyMs: never })
    await nextDue(schedule)
    expect(await lateMs(id)).toBeGreaterThanOrEqual(0)
    expect(polls.count).toBe(1)
  })

  test('a row written by another program, due earlier than what is waited for, is found by the next poll', async () => {
    const id = await waiting()
    const [other] = await makeGenerations(db(), 'proj_schedule', 1)
    await wakeIn(id, never)
    const schedule = open(db(), localPubSub(), { everyMs: 100 })
    await nextPoll(schedule)
    const due = nextDue(schedule)
    await nextPoll(schedule)
    await wakeIn(other!, 300)
    await due
    expect(await lateMs(other!)).toBeGreaterThanOrEqual(0)
  })

  test('after a hint the rows are read again, once for many hints', async () => {
    const id = await waiting()
    const pubsub = localPubSub()
    const { db: counted, polls } = watched(db())
    const schedule = open(counted, pubsub, { everyMs: never })
    const first = nextPoll(schedule)
    const due = nextDue(schedule)
    await first
    await wakeIn(id, 20)
    for (let i = 0; i < 100; i++) pubsub.publish([{ kind: 'work', table: 'generations' }])
    await due
    expect(polls.count).toBe(2)
  })

  test('a row that stays due is reported again', async () => {
    const id = await waiting()
    await wakeIn(id, -1000)
    const schedule = open(db(), localPubSub(), { everyMs: never })
    for (let i = 0; i < 3; i++) await nextDue(schedule)
  })

  test('while rows cannot be read, and while a poll hangs, every table is polled at every interval', async () => {
    await waiting()
    let fate: 'pass' | 'fail' | 'hang' = 'fail'
    const { db: broken } = watched(db(), () => fate)
    const schedule = open(broken, localPubSub(), { everyMs: 50 })
    const all = () =>
      Promise.all(
        (['generations', 'tool_calls', 'upstreams'] as const).map((table) => nextDue(schedule, table)),
      )
    await all()
    expect(await nextPoll(schedule)).toBeNull()
    fate = 'hang'
    for (let i = 0; i < 3; i++) await all()
    expect(await nextPoll(schedule)).toBeNull()
  })

  test('a poll says whether events have no position yet, and the newest position', async () => {
    await numberAll(db(), localPubSub())
    const schedule = open(db(), localPubSub(), { everyMs: 20 })
    // A poll that takes longer than the interval says nothing.
    let before: LogState | null = null
    while (!before) before = await nextPoll(schedule)
    const { newest } = before
    expect(before.unnumbered).toBe(false)
    await appendProjectEvents(db(), 'proj_schedule', someEvents(2))
    await expect.poll(() => nextPoll(schedule)).toMatchObject({ unnumbered: true, newest })
    await numberAll(db(), localPubSub())
    await expect.poll(() => nextPoll(schedule)).toMatchObject({ unnumbered: false, newest: newest + 2 })
  })

  test('while nothing happens every second poll is left out, until something does', async () => {
    await waiting()
    await numberAll(db(), localPubSub())
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const { db: counted, polls } = watched(db())
    const schedule = open(counted, localPubSub(), { everyMs: 1000 })
    /** Whether each of the next moments is polled at. */
    const moments = async (count: number) => {
      const asked: boolean[] = []
      for (let i = 0; i < count; i++) {
        const before = polls.count
        const polled = nextPoll(schedule)
        vi.advanceTimersByTime(1000)
        asked.push(polls.count > before)
        if (polls.count > before) await polled
      }
      return asked
    }
    expect(await moments(11)).not.toContain(false)
    expect(await moments(4)).toEqual([false, true, false, true])
    await appendProjectEvents(db(), 'proj_schedule', someEvents(1))
    expect(await moments(4)).toEqual([false, true, true, true])
    await numberAll(db(), localPubSub())
    expect(await moments(11)).not.toContain(false)
    expect(await moments(2)).toEqual([false, true])
  })

  return { db, connection: () => connection, wakeIn, waiting, lateMs }
}

describe('PGlite', () => {
  const { connection, waiting, wakeIn, lateMs } = suite(async () => connect(await memoryDatabase()))

  test('without statements nothing is read; a statement without any hint is followed by a poll', async () => {
    const id = await waiting()
    const { db, polls } = watched(connection().db)
    const { statementCount } = connection()
    let counted = () => {}
    const asked = () => {
      counted()
      return statementCount!()
    }
    const schedule = open(db, localPubSub(), { everyMs: 20, statementCount: asked })
    const due = nextDue(schedule)
    await nextPoll(schedule)
    // The poll after the callback was added.
    await expect.poll(() => polls.count).toBeGreaterThan(1)
    const quiet = polls.count
    for (let i = 0; i < 10; i++) await new Promise<void>((resolve) => (counted = resolve))
    expect(polls.count).toBe(quiet)
    await wakeIn(id, 100)
    await due
    expect(await lateMs(id)).toBeGreaterThanOrEqual(0)
  })
})

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  const { connection, waiting, wakeIn } = suite(async () => {
    const { url, drop } = await postgresDatabase()
    const opened = await connect({ kind: 'postgres', url, poolSize: 10 })
    await migrate(opened)
    return { ...opened, drop }
  })

  test('a table that is locked keeps the others from nothing', async () => {
    const id = await waiting()
    const schedule = open(connection().db, localPubSub(), { everyMs: 100 })
    const due = nextDue(schedule)
    let release = () => {}
    const locked = new Promise<void>((held) => {
      void connection().db.transaction(async (tx) => {
        await query(tx, sql`lock table upstreams in access exclusive mode`)
        held()
        await new Promise<void>((resolve) => (release = resolve))
      })
    })
    await locked
    await wakeIn(id, 0)
    await due
    release()
  })
})

test('a step of the clock, as after a suspended machine, counts as a change', () => {
  const now = Date.now
  onTestFinished(() => void (Date.now = now))
  const changes = watchChanges(() => 5)
  expect(changes.any()).toBe(true)
  changes.begin()()
  expect(changes.any(), 'the read counts itself').toBe(true)
  const own = watchChanges(() => count)
  let count = 5
  const seen = own.begin()
  count++
  seen()
  expect(own.any()).toBe(false)
  Date.now = () => now() + 60_000
  expect(own.any()).toBe(true)
})

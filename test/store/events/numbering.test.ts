/** Positions: given to committed events only, by one session at a time, in an order that never changes. */
import { sql, type SQL } from 'drizzle-orm'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { connect, type Connection } from '../../../src/store/db/connect.ts'
import { query, type Database } from '../../../src/store/db/database.ts'
import { migrate } from '../../../src/store/db/migrate.ts'
import { localPubSub } from '../../../src/store/pubsub/pubsub.ts'
import { beginIncarnation, openLog } from '../../../src/store/db/incarnation.ts'
import { feedSource, generationSource, startBroadcaster } from '../../../src/store/events/broadcaster.ts'
import { appendProjectEvents } from '../../../src/store/events/log.ts'
import { lagOf, numberAll, startNumbering } from '../../../src/store/events/numbering.ts'
import {
  beginning,
  encodeFeedCursor,
  encodeGenerationCursor,
  generationPosition,
} from '../../../src/store/events/position.ts'
import { readFeed, readGeneration } from '../../../src/store/events/read.ts'
import { feedPosition } from '../../../src/store/events/resume.ts'
import { openStream } from '../../../src/store/events/stream.ts'
import { hasPostgres, memoryDatabase, postgresDatabase } from '../../support/databases.ts'
import { append, makeGenerations, someEvents } from '../../support/log-writer.ts'
import { startSchedule } from '../../../src/store/work/schedule.ts'

const pubsub = localPubSub()

async function onPostgres(): Promise<Connection & { url: string }> {
  const { url, drop } = await postgresDatabase()
  const connection = await connect({ kind: 'postgres', url, poolSize: 8 })
  await migrate(connection)
  return { ...connection, url, close: () => connection.close().then(drop) }
}

const kinds = [
  ['PGlite', async () => connect(await memoryDatabase())],
  ...(hasPostgres ? [['PostgreSQL', onPostgres] as const] : []),
] as const

/** Project, generation, seq, commit order, id: what a cursor of the release before holds. */
const firstVersion = (event: {
  projectId: string
  generationId: string | null
  seq: number | null
  commitOrder: number
  id: number
}) => {
  const { projectId, generationId, seq, commitOrder, id } = event
  const parts = [1, projectId, generationId, seq, commitOrder, id]
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

describe.each(kinds)('on %s', (_kind, open) => {
  let connection: Connection
  let db: Database
  const desk = () => ({ db, pubsub })
  beforeAll(async () => {
    connection = await open()
    db = connection.db
  })
  afterAll(() => connection?.close())

  const positions = async (where: SQL) =>
    (
      await query<{ at: number | null }>(
        db,
        sql`select position::float8 as at from events where ${where} order by id`,
      )
    ).map(({ at }) => at)
  const eventsOf = async (projectId: string, after = beginning) =>
    (await readFeed(db, projectId, after, 10_000)).events

  test('the events of a statement, a transaction and a generation keep their order', async () => {
    const projectId = 'proj_order'
    const [a, b] = await makeGenerations(db, projectId, 2)
    await append(desk(), projectId, a!, someEvents(30))
    await db.transaction(async (tx) => {
      await append({ db: tx as unknown as Database, pubsub }, projectId, b!, someEvents(3))
      const named = Array.from({ length: 20 }, (_, i) => ({
        type: 'TOOL_CREATED',
        data: { name: String(i) },
      }))
      await appendProjectEvents(tx as unknown as Database, projectId, named)
    })
    await append(desk(), projectId, a!, someEvents(30))
    await numberAll(db, pubsub)
    const told = await eventsOf(projectId)
    for (const id of [a, b])
      expect(told.filter((one) => one.generationId === id).map((one) => one.seq)).toEqual(
        Array.from({ length: id === a ? 60 : 3 }, (_, i) => i + 1),
      )
    const names = told.filter((one) => one.type === 'TOOL_CREATED').map((one) => one.data['name'])
    expect(names).toEqual(Array.from({ length: 20 }, (_, i) => String(i)))
  })

  test('many sessions that number at the same moment give each event one position, without a gap', async () => {
    const projectId = 'proj_many'
    const ids = await makeGenerations(db, projectId, 5)
    await numberAll(db, pubsub)
    await Promise.all(
      ids.flatMap((id) => [
        (async () => {
          for (let i = 0; i < 20; i++) await append(desk(), projectId, id, someEvents(3))
        })(),
        (async () => {
          for (let i = 0; i < 20; i++) await numberAll(db, pubsub)
        })(),
      ]),
    )
    await numberAll(db, pubsub)
    const given = (await positions(sql`project_id = ${projectId}`)).map(Number).toSorted((x, y) => x - y)
    expect(given).toEqual(Array.from({ length: 300 }, (_, i) => given[0]! + i))
  })

  test('more events than one statement takes all get their positions', async () => {
    await query(
      db,
      sql`insert into events (project_id, type, data, commit_order)
        select 'proj_bulk', 'TOOL_CREATED', '{}', 0 from generate_series(1, 5000)`,
    )
    expect((await lagOf(db)).events).toBe(5000)
    await numberAll(db, pubsub)
    expect(await lagOf(db)).toEqual({ events: 0, seconds: 0 })
    const given = await positions(sql`project_id = 'proj_bulk'`)
    expect(given).toEqual(given.toSorted((x, y) => x! - y!))
  })

  test('cursors of the release before go on where they stood', async () => {
    const projectId = 'proj_old'
    const [id] = await makeGenerations(db, projectId, 1)
    await append(desk(), projectId, id!, someEvents(6))
    await appendProjectEvents(db, projectId, [{ type: 'TOOL_CREATED', data: {} }])
    // As that release left them: told in the order of transactions, which is not that of ids.
    await query(
      db,
      sql`update events set position = null, commit_order = 1000000 - id / 2 where project_id = ${projectId}`,
    )
    await query(db, sql`update events set position = null`)
    await query(db, sql`update installation set incarnation = null`)
    await openLog(db)
    const told = await eventsOf(projectId)
    const before = told.toSorted((x, y) => x.commitOrder - y.commitOrder || x.id - y.id)
    expect(told.map((one) => one.id)).toEqual(before.map((one) => one.id))
    expect(told).toHaveLength(7)
    for (const [i, event] of told.entries()) {
      const at = await feedPosition(db, pubsub, firstVersion(event), projectId)
      expect((await eventsOf(projectId, at)).map((one) => one.id)).toEqual(
        told.slice(i + 1).map((one) => one.id),
      )
    }
    const run = (await readGeneration(db, id!, beginning, 10)).events
    for (const [i, event] of run.entries()) {
      const page = await readGeneration(db, id!, generationPosition(firstVersion(event), id!), 10)
      expect(page.events.map((one) => one.seq)).toEqual(run.slice(i + 1).map((one) => one.seq))
    }
    const gone = { ...told[0]!, commitOrder: told[0]!.commitOrder + 1 }
    await expect(feedPosition(db, pubsub, firstVersion(gone), projectId)).rejects.toMatchObject({
      code: 'CURSOR_EXPIRED',
    })
  })

  test('what a replica of the release before had not told yet at its cursor is told, while both run', async () => {
    const projectId = 'proj_roll'
    await appendProjectEvents(db, projectId, someEvents(4))
    await numberAll(db, pubsub)
    const [first, second, third, fourth] = await eventsOf(projectId)
    // The second was committed late in the order of transactions: that replica tells it last.
    await query(
      db,
      sql`update events set commit_order = ${fourth!.commitOrder + 5}::bigint where id = ${second!.id}::bigint`,
    )
    const at = await feedPosition(db, pubsub, firstVersion(third!), projectId)
    const told = (await eventsOf(projectId, at)).map((one) => one.id)
    expect(told).toEqual([second!.id, third!.id, fourth!.id])
    expect((await feedPosition(db, pubsub, firstVersion(first!), projectId)).at).toBe(first!.position)
  })

  test('a cursor of a generation works in the feed, also before its event has its position', async () => {
    const projectId = 'proj_both'
    const [id] = await makeGenerations(db, projectId, 1)
    await append(desk(), projectId, id!, someEvents(3))
    const { events } = await readGeneration(db, id!, beginning, 10)
    expect(events[0]!.position).toBeNull()
    const at = await feedPosition(db, pubsub, encodeGenerationCursor(events[1]!), projectId)
    expect((await eventsOf(projectId, at)).map((one) => one.seq)).toEqual([3])
  })

  test('another incarnation expires no cursor whose event is there, and gives positions nobody has seen', async () => {
    const projectId = 'proj_moved'
    await appendProjectEvents(db, projectId, someEvents(3))
    await numberAll(db, pubsub)
    const told = await eventsOf(projectId)
    const cursors = told.map(encodeFeedCursor)
    const [{ name }] = (await query<{ name: string }>(
      db,
      sql`select incarnation as name from installation`,
    )) as [{ name: string }]
    // Another cluster, as after a dump and a restore.
    await query(db, sql`update installation set fingerprint = 'another/1'`)
    await openLog(db)
    await appendProjectEvents(db, projectId, someEvents(1))
    await numberAll(db, pubsub)
    const [, , , newest] = await eventsOf(projectId)
    expect(newest!.incarnation).not.toBe(name)
    expect(newest!.position! - told[2]!.position!).toBeGreaterThan(2 ** 31)
    for (const [i, cursor] of cursors.entries()) {
      const at = await feedPosition(db, pubsub, cursor, projectId)
      expect(await eventsOf(projectId, at)).toHaveLength(3 - i)
    }
    // The next start finds nothing changed.
    await openLog(db)
    await appendProjectEvents(db, projectId, someEvents(1))
    await numberAll(db, pubsub)
    expect((await eventsOf(projectId)).at(-1)).toMatchObject({
      incarnation: newest!.incarnation,
      position: newest!.position! + 1,
    })
    await beginIncarnation(db)
  })

  test('an event that was lost and whose place another one has got expires its cursor, also for who listens', async () => {
    const projectId = 'proj_replaced'
    await appendProjectEvents(db, projectId, someEvents(2))
    await numberAll(db, pubsub)
    const [first, lost] = await eventsOf(projectId)
    const broadcaster = startBroadcaster(db, pubsub, { backstopMs: 20 })
    const streams = [first!, lost!].map((event) =>
      openStream(broadcaster, {
        source: feedSource(db, projectId),
        after: { at: event.position!, event },
        deltas: false,
      }),
    )
    const behind = await streams[0]!.next()
    expect(behind.value).toMatchObject({ event: { id: lost!.id } })
    const waiting = streams[1]!.next()
    const seen = expect(waiting).rejects.toMatchObject({
      code: 'CURSOR_EXPIRED',
      details: { oldestCursor: '0' },
    })
    await query(db, sql`delete from events where id = ${lost!.id}::bigint`)
    await query(
      db,
      sql`insert into events (id, project_id, type, data, commit_order, position) overriding system value
        values (${lost!.id}::bigint, ${projectId}, 'TOOL_CREATED', '{}', ${lost!.commitOrder}::bigint, ${lost!.position}::bigint)`,
    )
    await appendProjectEvents(db, projectId, someEvents(1))
    await seen
    await streams[0]!.return!()
    expect(broadcaster.topicCount()).toBe(0)
    broadcaster.close()
  })

  test('a stream that begins behind the last event of an ended run ends at once', async () => {
    const projectId = 'proj_ended'
    const [id] = await makeGenerations(db, projectId, 1)
    await append(desk(), projectId, id!, someEvents(3, true))
    const { events } = await readGeneration(db, id!, beginning, 10)
    const broadcaster = startBroadcaster(db, pubsub)
    const openAfter = (at: number) =>
      openStream(broadcaster, {
        source: generationSource(db, id!),
        after: { at, event: events[at - 1]! },
        deltas: true,
        isLast: (type) => type === 'GENERATION_COMPLETED',
      })
    expect(await openAfter(3).next()).toEqual({ done: true, value: undefined })
    const stream = openAfter(2)
    expect((await stream.next()).value).toMatchObject({ event: { seq: 3 } })
    expect((await stream.next()).done).toBe(true)
    expect(broadcaster.topicCount()).toBe(0)
    broadcaster.close()
  })

  test('a process that follows fifty quiet projects and fifty quiet runs sends one statement in each interval', async () => {
    let statements = 0
    const counted = new Proxy(db, {
      get(target, name) {
        if (name === 'execute') statements++
        const value = Reflect.get(target, name) as unknown
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value
      },
    })
    await numberAll(db, pubsub)
    const ids = await makeGenerations(db, 'proj_idle', 50)
    const schedule = startSchedule(counted, pubsub, { everyMs: 100 })
    const broadcaster = startBroadcaster(counted, pubsub, { schedule })
    const sources = [
      ...ids.map((id) => generationSource(db, id)),
      ...Array.from({ length: 50 }, (_, i) => feedSource(db, `proj_idle_${i}`)),
    ]
    const streams = sources.map((source) =>
      openStream(broadcaster, { source, after: beginning, deltas: false }),
    )
    const pending = streams.map((stream) => stream.next())
    /** The statements until the next poll; null when the one under way takes longer than an interval: then others follow. */
    const inNextInterval = async () => {
      const before = statements
      const isRead = await new Promise<boolean>((resolve) => {
        const stop = schedule.onPoll((log) => {
          stop()
          resolve(log !== null)
        })
      })
      return isRead ? statements - before : null
    }
    const everybodyHasRead = async () => {
      for (let quiet = 0; quiet < 3;) quiet = (await inNextInterval()) === 1 ? quiet + 1 : 0
    }
    await everybodyHasRead()
    for (let intervals = 0; intervals < 10;) {
      const sent = await inNextInterval()
      if (sent === null) await everybodyHasRead()
      else {
        expect(sent).toBe(1)
        intervals++
      }
    }
    await Promise.all(streams.map((stream) => stream.return!()))
    await Promise.all(pending)
    broadcaster.close()
    schedule.close()
  })

  test('events that nobody can number are counted, and the log warns of them once', async () => {
    const warnings: { lag?: { events: number } }[] = []
    const broken = new Proxy(db, {
      get(target, name) {
        if (name !== 'execute') return Reflect.get(target, name) as unknown
        return (statement: SQL) =>
          JSON.stringify(statement.queryChunks).includes('number_waiting_events')
            ? Promise.reject(new Error('no such function'))
            : target.execute(statement)
      },
    })
    let now = performance.now()
    const clock = performance.now
    const numbering = startNumbering(broken, pubsub, { warn: (fields) => void warnings.push(fields) })
    await appendProjectEvents(db, 'proj_stuck', someEvents(2))
    await query(
      db,
      sql`update events set created_at = now() - interval '9 seconds' where project_id = 'proj_stuck'`,
    )
    performance.now = () => now
    try {
      for (let i = 0; i < 10; i++) {
        now += 4000
        expect(await numbering.run(null)).toBeNull()
      }
    } finally {
      performance.now = clock
      numbering.close()
    }
    expect(warnings).toHaveLength(1)
    expect(warnings[0]!.lag!.events).toBe(2)
    const lag = await lagOf(db)
    expect(lag.events).toBe(2)
    expect(lag.seconds).toBeGreaterThan(8)
    await numberAll(db, pubsub)
  })
})

test('commits of a few generations are numbered at once, those of many together', async () => {
  const { db, statementCount, close } = await connect(await memoryDatabase())
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const numbering = startNumbering(db, pubsub, { warn: () => {} })
  const before = statementCount!()
  const sent = async () => {
    // One statement of an embedded database waits for those before it.
    await query(db, sql`select 1`)
    reads++
    return statementCount!() - before - reads
  }
  let reads = 0
  try {
    for (const [i, generation] of ['a', 'a', 'b', 'a'].entries()) {
      numbering.poke(generation)
      expect(await sent()).toBe(i + 1)
    }
    for (const generation of ['c', 'd', 'e', null]) numbering.poke(generation)
    expect(await sent()).toBe(4)
    await vi.advanceTimersByTimeAsync(5)
    expect(await sent()).toBe(5)
    await vi.advanceTimersByTimeAsync(5)
    numbering.poke('f')
    expect(await sent()).toBe(6)
    // One that comes while a statement runs is not forgotten.
    numbering.poke('f')
    numbering.poke('f')
    expect(await sent()).toBe(7)
    await vi.advanceTimersByTimeAsync(0)
    expect(await sent()).toBe(8)
  } finally {
    numbering.close()
    vi.useRealTimers()
    await close()
  }
})

describe.skipIf(!hasPostgres)('a session that is ended while it numbers', () => {
  test('leaves nothing behind: the next one gives all positions', async () => {
    const connection = await onPostgres()
    const client = (name: string) =>
      postgres(connection.url, { max: 1, onnotice: () => {}, connection: { application_name: name } })
    const [blocker, waiter] = [client('blocker'), client('waiter')]
    try {
      await appendProjectEvents(connection.db, 'proj_waiter', someEvents(5))
      const held = await blocker.reserve()
      await held`begin`
      await held`select 1 from events order by id desc limit 1 for update`
      const cut = expect(waiter`select number_waiting_events(false, 2000)`).rejects.toThrow()
      const numbering = () =>
        query(
          connection.db,
          sql`select pid from pg_stat_activity where application_name = 'waiter' and wait_event_type = 'Lock'`,
        )
      await expect.poll(async () => (await numbering()).length).toBe(1)
      // Meanwhile others are told that somebody is at it, and wait for nothing.
      const [busy] = await query<{ done: object }>(
        connection.db,
        sql`select number_waiting_events(false, 2000) as done`,
      )
      expect(busy!.done).toMatchObject({ busy: true, count: 0 })
      await query(
        connection.db,
        sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'waiter'`,
      )
      await cut
      await held`rollback`
      held.release()
      await numberAll(connection.db, pubsub)
      expect((await readFeed(connection.db, 'proj_waiter', beginning, 10)).events).toHaveLength(5)
    } finally {
      await Promise.all([blocker.end({ timeout: 1 }), waiter.end({ timeout: 1 })])
      await connection.close()
    }
  })
})

describe.skipIf(!hasPostgres)('statistics that say that the log is nearly empty', () => {
  test('do not slow the numbering: after much was removed and vacuumed, a burst gets its positions at once', async () => {
    const connection = await onPostgres()
    const client = postgres(connection.url, { max: 1, onnotice: () => {} })
    const burst = (name: string) => client`
      insert into events (project_id, generation_id, seq, type, data, commit_order)
      select 'proj_burst', ${name} || i, s, 'X', '{}', 1 from generate_series(1, 4000) as i, generate_series(1, 8) as s`
    try {
      await client`alter table events set (autovacuum_enabled = false)`
      await burst('a')
      await numberAll(connection.db, pubsub)
      await client`delete from events where position < (select max(position) from events)`
      await client`vacuum events`
      await burst('b')
      // Each statement of the pool has 15 seconds: reading all for each of the waiting ones takes longer.
      expect(await numberAll(connection.db, pubsub)).toBe(64_000)
      const [row] = await client`select count(*)::int as n, min(position)::int as first from events`
      expect(row).toEqual({ n: 32_001, first: 32_000 })
      const [outOfOrder] = await client`
        select count(*)::int as n from (select position - lag(position) over (order by id) as step from events) as s
        where step <> 1`
      expect(outOfOrder!['n']).toBe(0)
    } finally {
      await client.end({ timeout: 1 })
      await connection.close()
    }
  })
})

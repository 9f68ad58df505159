/** The contract of work rows on both databases. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { connect, type Connection } from '../../src/store/db/connect.ts'
import { migrate } from '../../src/store/db/migrate.ts'
import { hasPostgres, memoryDatabase, postgresDatabase } from '../support/databases.ts'
import { sql } from 'drizzle-orm'
import { atomically, query } from '../../src/store/db/database.ts'
import { localPubSub } from '../../src/store/pubsub/pubsub.ts'
import { createHeartbeat } from '../../src/store/work/leases.ts'
import { momentNow } from '../../src/core/time.ts'
import {
  claim,
  type ClaimedRow,
  heartbeat,
  type HeldRow,
  LeaseLostError,
  release,
} from '../../src/store/work/work.ts'
import { type Schedule, startSchedule } from '../../src/store/work/schedule.ts'
import { interruption, startWorker, type WorkerOptions } from '../../src/store/work/worker.ts'
import { commit } from '../../src/domain/generations/transaction/commit.ts'
import { makeGenerations, someEvents } from '../support/log-writer.ts'

/** Longer than any stall of a busy machine; tests whose lease ends set their own. */
const leaseMs = 60_000
const shortLeaseMs = 300

interface State {
  epoch: number
  status: string
  lastSeq: number
  /** The wake-up, since 1970 and from now. */
  wakeMs: number | null
  inMs: number | null
}

function workSuite(name: string, open: () => Promise<Connection & { drop?(): Promise<void> }>): void {
  describe(name, () => {
    let connection: Awaited<ReturnType<typeof open>>
    const db = () => connection.db
    beforeAll(async () => {
      connection = await open()
    })
    afterAll(async () => {
      await connection?.close()
      await connection?.drop?.()
    })

    /** Rows that are due now. */
    async function due(count: number, projectId = 'proj_work'): Promise<string[]> {
      const ids = await makeGenerations(db(), projectId, count)
      await query(db(), sql`update generations set wake_at = now() where id in ${ids}`)
      return ids
    }

    async function stateOf(id: string) {
      const rows = await query<State>(
        db(),
        sql`select epoch, status, last_seq as "lastSeq", (extract(epoch from wake_at) * 1000)::float8 as "wakeMs",
          (extract(epoch from wake_at - clock_timestamp()) * 1000)::float8 as "inMs" from generations where id = ${id}`,
      )
      return rows[0]!
    }

    const take = (limit = 100, lease = leaseMs) => claim(db(), 'generations', lease, { limit, except: [] })
    /** Claims until it has so many: a claim skips what is locked at that moment. */
    async function takeAll(count: number, lease = leaseMs): Promise<HeldRow[]> {
      const held: HeldRow[] = []
      await expect
        .poll(async () => {
          held.push(...(await take(100, lease)))
          return held.length
        })
        .toBe(count)
      return held
    }
    const untilDue = (id: string) => expect.poll(async () => (await stateOf(id)).inMs).toBeLessThan(0)
    afterEach(() => query(db(), sql`update generations set wake_at = null`))

    test('of many claimers each row goes to one, and the epoch is raised once', async () => {
      const ids = await due(200)
      const taken = await Promise.all(Array.from({ length: 16 }, () => take(25)))
      const all = taken.flat()
      const more = await take(200)
      expect([...all, ...more].map((row) => row.id).toSorted()).toEqual(ids.toSorted())
      expect(new Set(all.map((row) => row.epoch))).toEqual(new Set([1]))
      expect(await take()).toEqual([])
    })

    test('a claim waits for no other, and leaves it its rows', async ({ skip }) => {
      skip(connection.kind === 'pglite', 'it has one transaction at a time')
      const ids = await due(3)
      const taken = await atomically(db(), async (tx) => {
        const first = await claim(tx, 'generations', leaseMs, { limit: 2, except: [] })
        return [...first, ...(await take())]
      })
      expect(taken.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
    })

    test('while a lease holds no other worker gets the row', async () => {
      const ids = await due(2)
      expect(await take()).toHaveLength(ids.length)
      expect(await take()).toEqual([])
      for (const id of ids) expect((await stateOf(id)).inMs).toBeGreaterThan(leaseMs / 2)
    })

    test('the oldest are claimed first, and no more than requested', async () => {
      const ids = await due(3)
      for (const [i, id] of ids.entries())
        await query(
          db(),
          sql`update generations set wake_at = now() - ${10 - i}::int * interval '1 second' where id = ${id}`,
        )
      expect((await take(2)).map((row) => row.id).toSorted()).toEqual(ids.slice(0, 2).toSorted())
      expect((await take(2)).map((row) => row.id)).toEqual(ids.slice(2))
    })

    test('a row that wakes later or never is left alone', async () => {
      const [later, never] = await due(2)
      await query(db(), sql`update generations set wake_at = now() + interval '1 hour' where id = ${later!}`)
      await query(db(), sql`update generations set wake_at = null where id = ${never!}`)
      expect(await take()).toEqual([])
    })

    test('when the lease has ended another worker takes the row, and writes of the first are refused completely', async () => {
      const [id] = await due(1)
      const [first] = (await take(1, shortLeaseMs)) as [ClaimedRow]
      await untilDue(id!)
      const [second] = (await take()) as [ClaimedRow]
      expect(second).toMatchObject({ id, epoch: first.epoch + 1 })
      const change = { set: [sql`status = 'COMPLETED'`], wakeAt: null, events: someEvents(2) }
      await expect(commit(db(), first, change)).rejects.toThrow(LeaseLostError)
      expect(await stateOf(id!)).toMatchObject({ status: 'WAITING', lastSeq: 0, epoch: second.epoch })
      expect(await query(db(), sql`select 1 from events where generation_id = ${id!}`)).toEqual([])
      expect(await commit(db(), second, { wakeAt: null, release: true, events: someEvents(2) })).toEqual({
        seq: 2,
        hints: [],
      })
      await expect(commit(db(), second, change), 'it was given back').rejects.toThrow(LeaseLostError)
    })

    test('a heartbeat renews the held rows, and only those', async () => {
      const [kept, parked, lost] = await due(3)
      const held = await takeAll(3)
      const of = (id: string) => held.find((row) => row.id === id)!
      await commit(db(), of(parked!), { wakeAt: null, release: true })
      await query(db(), sql`update generations set epoch = epoch + 1 where id = ${lost!}`)
      const before = (await stateOf(lost!)).inMs!
      const none = new Set()
      const beat = await heartbeat(db(), 'generations', 10 * leaseMs, held)
      expect(beat).toEqual({ renewed: new Set([kept]), locked: none })
      expect((await stateOf(kept!)).inMs).toBeGreaterThan(5 * leaseMs)
      expect((await stateOf(parked!)).inMs, 'a parked row is not woken').toBeNull()
      expect((await stateOf(lost!)).inMs).toBeLessThanOrEqual(before)
      expect(await heartbeat(db(), 'generations', leaseMs, [])).toEqual({ renewed: none, locked: none })
    })

    test("a holder reclaims its row, and its earlier statements are refused; another worker's row is never reclaimed", async () => {
      const [own, taken] = await due(2)
      const held = await takeAll(2)
      const heartbeats = createHeartbeat({ db: db(), leaseMs: 60_000, onError: () => {} })
      const leases = heartbeats.of('generations')
      const leaseOf = (id: string) =>
        leases.keep(
          held.find((row) => row.id === id)!,
          momentNow(),
        )
      const [mine, lost] = [leaseOf(own!), leaseOf(taken!)]
      const before = { ...mine.held }
      await mine.refence(before.epoch)
      expect(mine.held.epoch).toBe(before.epoch + 1)
      await mine.refence(before.epoch)
      expect(mine.held.epoch, 'the earlier statement is fenced already').toBe(before.epoch + 1)
      await expect(commit(db(), before, { wakeAt: null })).rejects.toThrow(LeaseLostError)
      await query(db(), sql`update generations set epoch = epoch + 1 where id = ${taken!}`)
      await expect(lost.refence(lost.held.epoch)).rejects.toThrow(LeaseLostError)
      expect(lost.signal.aborted).toBe(true)
      expect((await stateOf(taken!)).epoch).toBe(lost.held.epoch + 1)
      heartbeats.stop()
    })

    test('a lease that may have ended is not certain, and is renewed before it is used', async () => {
      const [kept, gone] = await due(2)
      const held = await takeAll(2, 60_000)
      const heartbeats = createHeartbeat({ db: db(), leaseMs: 60_000, onError: () => {} })
      const leases = heartbeats.of('generations')
      const longAgo = { monotonic: performance.now() - 59_000, wall: Date.now() }
      const asleep = { monotonic: performance.now(), wall: Date.now() - 59_000 }
      const leaseOf = (id: string, since: typeof longAgo) =>
        leases.keep(
          held.find((row) => row.id === id)!,
          since,
        )
      const one = leaseOf(kept!, longAgo)
      const other = leaseOf(gone!, asleep)
      await query(db(), sql`update generations set epoch = epoch + 1 where id = ${gone!}`)
      expect([one.isSure(), other.isSure()]).toEqual([false, false])
      expect(leases.unsure().toSorted()).toEqual([kept, gone].toSorted())
      await one.confirm()
      expect(one.isSure()).toBe(true)
      await expect(other.confirm()).rejects.toThrow(LeaseLostError)
      await expect(other.refence(other.held.epoch)).rejects.toThrow(LeaseLostError)
      heartbeats.stop()
    })

    test('a row that is released is due at once, for another epoch', async () => {
      const [id] = await due(1)
      const held = (await take()) as HeldRow[]
      await release(db(), 'generations', held)
      expect((await take()) as HeldRow[]).toMatchObject([{ id, epoch: held[0]!.epoch + 2 }])
      await release(db(), 'generations', held)
      expect(await take(), 'a second release by the same worker does nothing').toEqual([])
    })

    test('a decision at the deadline and the worker that times out: exactly one of them wins', async () => {
      const ids = await due(60)
      const wins = await Promise.all(
        ids.map(async (id, i) => {
          await query(
            db(),
            sql`update generations set wake_at = now() + interval '40 milliseconds' where id = ${id}`,
          )
          const decide = async () => {
            await new Promise((resolve) => setTimeout(resolve, 30 + (i % 20)))
            return atomically(db(), async (tx) => {
              await query(tx, sql`select 1 from generations where id = ${id} for update`)
              const rows = await query(
                tx,
                sql`update generations set stop_reason = 'decided', wake_at = now()
                  where id = ${id} and stop_reason is null and wake_at > clock_timestamp() returning 1`,
              )
              return rows.length
            })
          }
          const expire = async () => {
            await untilDue(id)
            const rows = await query(
              db(),
              sql`update generations set stop_reason = 'expired'
                where id = ${id} and stop_reason is null and wake_at <= clock_timestamp() returning 1`,
            )
            return rows.length
          }
          const [decided, expired] = await Promise.all([decide(), expire()])
          return decided + expired
        }),
      )
      expect(wins.filter((n) => n !== 1)).toEqual([])
    })

    describe('a worker', () => {
      const leasesOf = (ms: number) =>
        createHeartbeat({ db: db(), leaseMs: ms, onError: () => {} }).of('generations')
      let schedule: Schedule
      beforeAll(() => {
        schedule = startSchedule(db(), localPubSub(), { everyMs: 20 })
      })
      afterAll(() => schedule?.close())
      const options = (more: Partial<WorkerOptions<ClaimedRow>>): WorkerOptions<ClaimedRow> => ({
        db: db(),
        pubsub: localPubSub(),
        table: 'generations',
        slots: 4,
        leases: leasesOf(leaseMs),
        schedule,
        claim: (limits) => claim(db(), 'generations', leaseMs, limits),
        run: async () => {},
        onError: () => {},
        ...more,
      })
      const finish = (held: HeldRow) => commit(db(), held, { wakeAt: null, release: true })

      test('never holds more rows than it has slots, and gets through all of them', async () => {
        const ids = await due(30)
        let now = 0
        let most = 0
        const done: string[] = []
        const worker = startWorker(
          options({
            run: async (held) => {
              most = Math.max(most, ++now)
              await new Promise((resolve) => setTimeout(resolve, 2))
              await finish(held)
              done.push(held.id)
              now--
            },
          }),
        )
        await expect.poll(() => done.length).toBe(30)
        expect(done.toSorted()).toEqual(ids.toSorted())
        expect(most).toBe(4)
        await worker.stop(100)
      })

      test('takes the row of another project although all slots and the whole queue are of one', async () => {
        await due(30, 'proj_greedy')
        let free = () => {}
        const blocked = new Promise<void>((resolve) => (free = resolve))
        const begun: string[] = []
        const worker = startWorker(
          options({
            run: async (held) => {
              begun.push(held.projectId)
              if (held.projectId === 'proj_greedy') await blocked
              await finish(held)
            },
          }),
        )
        await expect.poll(() => begun).toEqual(Array.from({ length: 4 }, () => 'proj_greedy'))
        await due(3, 'proj_modest')
        await expect.poll(() => begun.slice(4)).toEqual(['proj_modest', 'proj_modest', 'proj_modest'])
        free()
        await expect.poll(() => begun.length).toBe(33)
        await worker.stop(100)
      })

      test('keeps a long task by its heartbeat, and informs the task when the row is lost', async () => {
        const [id] = await due(1)
        let begin = (_held: HeldRow) => {}
        let lose = () => {}
        const begun = new Promise<HeldRow>((resolve) => (begin = resolve))
        const lost = new Promise<void>((resolve) => (lose = resolve))
        const worker = startWorker(
          options({
            leases: leasesOf(3000),
            claim: ({ limit }) => take(limit, 3000),
            run: async (held, { signal }) => {
              begin(held)
              await new Promise((ended) => signal.addEventListener('abort', ended))
              lose()
            },
          }),
        )
        const held = await begun
        const first = (await stateOf(id!)).wakeMs!
        await expect.poll(async () => (await stateOf(id!)).wakeMs).toBeGreaterThan(first)
        expect(await stateOf(id!), 'no worker has taken it').toMatchObject({ epoch: held.epoch })
        await query(db(), sql`update generations set epoch = epoch + 1, wake_at = null where id = ${id!}`)
        await lost
        await expect.poll(() => worker.busy()).toBe(0)
        await worker.stop(10)
      })

      test('an interrupt reaches the task and leaves the row unchanged; a stop releases the other rows', async () => {
        const [id] = await due(1)
        const reasons: unknown[] = []
        let begun = () => {}
        const started = new Promise<void>((resolve) => (begun = resolve))
        const worker = startWorker(
          options({
            run: async (_held, { signal }) => {
              begun()
              await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
              reasons.push(signal.reason)
              await new Promise(() => {})
            },
          }),
        )
        await started
        worker.interrupt(id!)
        worker.interrupt('gen_elsewhere')
        await expect.poll(() => reasons).toEqual([interruption])
        expect(worker.busy()).toBe(1)
        const { epoch } = await stateOf(id!)
        await worker.stop(10)
        expect((await stateOf(id!)).epoch).toBe(epoch + 1)
        expect((await stateOf(id!)).inMs).toBeLessThanOrEqual(0)
      })

      test('a task that fails is claimed again when its lease has ended', async () => {
        const [id] = await due(1)
        const errors: unknown[] = []
        let runs = 0
        const worker = startWorker(
          options({
            claim: ({ limit }) => take(limit, shortLeaseMs),
            run: async (held) => {
              if (++runs === 1) throw new Error('unexpected')
              await finish(held)
            },
            onError: (error, failed) => errors.push([String(error), failed]),
          }),
        )
        await expect.poll(() => runs).toBe(2)
        expect(errors).toEqual([['Error: unexpected', id]])
        await worker.stop(500)
        expect((await stateOf(id!)).inMs).toBeNull()
      })
    })
  })
}

workSuite('work rows on PGlite', async () => connect(await memoryDatabase()))

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  workSuite('work rows on PostgreSQL', async () => {
    const { url, drop } = await postgresDatabase()
    const connection = await connect({ kind: 'postgres', url, poolSize: 20 })
    await migrate(connection)
    return { ...connection, drop }
  })
})

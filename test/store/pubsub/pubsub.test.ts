/** One contract for PubSub in this process, over PostgreSQL and over Redis. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Hint, localPubSub, type PubSub } from '../../../src/store/pubsub/pubsub.ts'
import { postgresPubSub } from '../../../src/store/pubsub/postgres-pubsub.ts'
import { redisPubSub } from '../../../src/store/pubsub/redis-pubsub.ts'
import { hasPostgres, hasRedis, postgresDatabase } from '../../support/databases.ts'
import { cutRedis, ownRedis } from '../../support/redis-cut.ts'

/** What the contract is tried on, whatever transport it uses. */
interface BellTower {
  /** Two PubSubs of one installation; for a single process both are the same. */
  one: PubSub
  other: PubSub
  /** Closes the connections of the transport; null where there are none. */
  cut: (() => Promise<unknown>) | null
  close(): Promise<unknown>
}

const news = (generationId: string, seq: number): Hint => ({
  kind: 'news',
  projectId: 'proj_x',
  generationId,
  seq,
})
const delta = (offset: number, text: string): Hint => ({
  kind: 'delta',
  generationId: 'gen_d',
  projectId: 'proj_x',
  after: 1,
  stepIndex: 1,
  attempt: 1,
  offset,
  text,
})

/** Collects hints until `enough`. Called before anything is published. */
function heard(pubsub: PubSub, enough: (hints: Hint[]) => boolean): Promise<Hint[]> {
  return new Promise((resolve) => {
    const hints: Hint[] = []
    const stop = pubsub.subscribe((hint) => {
      hints.push(hint)
      if (!enough(hints)) return
      stop()
      resolve(hints)
    })
  })
}

function bellSuite(name: string, build: () => Promise<BellTower>): void {
  describe(name, () => {
    let tower: BellTower
    const alone = () => tower.one === tower.other
    beforeAll(async () => {
      tower = await build()
    })
    afterAll(async () => {
      await tower?.close()
    })

    test('a hint is delivered to the subscribers of the same process at once, and once', async () => {
      const hints: Hint[] = []
      const stop = tower.one.subscribe((hint) => hints.push(hint))
      const far = heard(tower.other, (all) => all.some((hint) => hint.kind === 'signal'))
      tower.one.publish([news('gen_a', 1), { kind: 'signal', name: 'cancel', id: 'gen_a' }])
      expect(hints).toHaveLength(2)
      expect(await far).toEqual([news('gen_a', 1), { kind: 'signal', name: 'cancel', id: 'gen_a' }])
      const answer = heard(tower.one, (all) => all.some((hint) => hint.kind === 'work'))
      tower.other.publish([{ kind: 'work', table: 'generations' }])
      await answer
      // An echo of the first two would have come before the response.
      expect(hints).toHaveLength(3)
      stop()
    })

    test('after unsubscribing, no hint is delivered', async () => {
      let count = 0
      const stop = tower.other.subscribe(() => count++)
      stop()
      const far = heard(tower.other, (all) => all.length === 1)
      tower.one.publish([news('gen_b', 1)])
      await far
      expect(count).toBe(0)
    })

    test('a thousand pieces of news of one generation are delivered as the newest one, in few hints', async () => {
      const far = heard(tower.other, (all) => all.some((hint) => hint.kind === 'news' && hint.seq === 1000))
      for (let seq = 1; seq <= 1000; seq++) tower.one.publish([news('gen_c', seq)])
      const hints = await far
      expect(hints.at(-1)).toEqual(news('gen_c', 1000))
      if (!alone()) expect(hints.length).toBeLessThan(50)
    })

    test('more than one message can carry arrives whole and in order', async () => {
      const texts = Array.from({ length: 200 }, (_, i) => `${i} `.padEnd(900, 'ü'))
      const far = heard(tower.other, (all) => all.length === texts.length + 1)
      tower.one.publish([...texts.map((text, i) => delta(i, text)), news('gen_d', 2)])
      const hints = await far
      expect(hints.slice(0, -1).map((hint) => (hint.kind === 'delta' ? hint.text : null))).toEqual(texts)
      expect(hints.at(-1)).toEqual(news('gen_d', 2))
    })

    test('what is published later is delivered later, although a large load is still being sent', async () => {
      const far = heard(tower.other, (all) => all.filter((hint) => hint.kind === 'delta').length === 300)
      for (let i = 0; i < 300; i++) {
        tower.one.publish([delta(i, `${i}`.padEnd(900, 'x'))])
        if (i % 30 === 0) await new Promise((resolve) => setTimeout(resolve, 4))
      }
      const offsets = (await far).map((hint) => (hint.kind === 'delta' ? hint.offset : -1))
      expect(offsets.findIndex((offset, i) => offset !== i)).toBe(-1)
    })

    test('a hint that is too large for the transport is dropped, and no other one', async () => {
      const far = heard(tower.other, (all) => all.some((hint) => hint.kind === 'news'))
      tower.one.publish([delta(0, 'x'.repeat(300_000)), news('gen_e', 7)])
      expect((await far).at(-1)).toEqual(news('gen_e', 7))
    })

    test('after a cut it says that hints may be lost, and delivers hints again', async ({ skip }) => {
      if (!tower.cut) return skip()
      const far = heard(tower.other, (all) => all.some((hint) => hint.kind === 'reconnected'))
      await tower.cut()
      await far
      let seq = 0
      const again = heard(tower.other, (all) => all.some((hint) => hint.kind === 'news'))
      // The sender may still be reconnecting, and what it publishes then is lost: that is the contract.
      const ringing = setInterval(() => tower.one.publish([news('gen_f', ++seq)]), 20)
      expect((await again).at(-1)).toMatchObject({ kind: 'news', generationId: 'gen_f' })
      clearInterval(ringing)
    })

    test('publishing to a closed PubSub does nothing', async () => {
      await tower.one.close()
      expect(() => tower.one.publish([news('gen_g', 1)])).not.toThrow()
    })
  })
}

bellSuite('PubSub in one process', async () => {
  const pubsub = localPubSub()
  return { one: pubsub, other: pubsub, cut: null, close: () => pubsub.close() }
})

const cancelOf = (id: string): Hint => ({ kind: 'signal', name: 'cancel', id })

/** Resolves when this signal has come. */
function cameTo(pubsub: PubSub, id: string): Promise<void> {
  return new Promise((resolve) => {
    const stop = pubsub.subscribe((hint) => {
      if (hint.kind !== 'signal' || hint.id !== id) return
      stop()
      resolve()
    })
  })
}

/**
 * Publishes until the other receives it: what is published before it is known to listen may be lost. Nothing of it is on its way
 * afterwards.
 */
async function untilHeard(from: PubSub, to: PubSub, id: string = randomUUID()): Promise<void> {
  const coming = cameTo(to, id)
  const timer = setInterval(() => from.publish([cancelOf(id)]), 20)
  await coming.finally(() => clearInterval(timer))
  const last = cameTo(to, `last of ${id}`)
  from.publish([cancelOf(`last of ${id}`)])
  await last
}

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  bellSuite('PubSub over LISTEN and NOTIFY', async () => {
    const database = await postgresDatabase()
    const sql = postgres(database.url, { max: 1, onnotice: () => {} })
    const [one, other] = await Promise.all([postgresPubSub(database.url), postgresPubSub(database.url)])
    await Promise.all([untilHeard(one, other), untilHeard(other, one)])
    return {
      one,
      other,
      cut: () => sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`,
      close: async () => {
        await Promise.all([one.close(), other.close(), sql.end({ timeout: 1 })])
        await database.drop()
      },
    }
  })
})

describe.skipIf(!hasPostgres)('what PostgreSQL carries', () => {
  let database: Awaited<ReturnType<typeof postgresDatabase>>
  let listener: postgres.Sql
  let texts: string[]
  const pubsubs: PubSub[] = []
  const open = async () => {
    const made = await postgresPubSub(database.url)
    pubsubs.push(made)
    return made
  }
  /** Resolves when everything that was notified before has arrived. */
  const settled = async () => {
    const mark = randomUUID()
    await listener.notify('gatehouse_bell', mark)
    await expect.poll(() => texts.includes(mark)).toBe(true)
  }
  /** Messages with hints; greetings have none. */
  const messages = () => texts.filter((text) => text.includes('"hints":[{'))

  beforeEach(async () => {
    database = await postgresDatabase()
    listener = postgres(database.url, { max: 1, onnotice: () => {} })
    texts = []
    await listener.listen('gatehouse_bell', (text) => void texts.push(text))
  })
  afterEach(async () => {
    await Promise.all(pubsubs.splice(0).map((pubsub) => pubsub.close()))
    await listener.end({ timeout: 1 })
    await database.drop()
  })

  test('is nothing while no other process listens', async () => {
    const one = await open()
    let own = 0
    one.subscribe(() => own++)
    for (let i = 0; i < 20; i++) one.publish([cancelOf(`nobody ${i}`)])
    expect(own).toBe(20)
    // What was collected before is sent no later than what follows.
    await untilHeard(one, await open())
    await settled()
    expect(messages().join()).not.toContain('nobody')
  })

  test('is everything from the moment when another process listens, and nothing more once it has ended', async () => {
    const one = await open()
    one.publish([cancelOf('too early')])
    const other = await open()
    await untilHeard(one, other, 'in time')
    await settled()
    expect(messages().join()).toContain('in time')
    expect(messages().join()).not.toContain('too early')
    await pubsubs.pop()!.close()
    // The next probe of the connection finds that it has gone.
    const before = () => messages().length
    await expect
      .poll(
        async () => {
          const had = before()
          one.publish([cancelOf(`gone ${had}`)])
          await pause(20)
          await settled()
          return before() - had
        },
        { timeout: 90_000, interval: 500 },
      )
      .toBe(0)
  })

  test('is everything again after its own connection was lost, for those that began to listen meanwhile', async () => {
    const one = await open()
    const back = new Promise<void>((resolve) =>
      one.subscribe((hint) => void (hint.kind === 'reconnected' && resolve())),
    )
    const admin = postgres(database.url, { max: 1, onnotice: () => {} })
    await admin`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'gatehouse pubsub'`
    const other = await open()
    await back
    await untilHeard(one, other)
    await admin.end({ timeout: 1 })
  })
})

describe.skipIf(!hasRedis)('Redis', () => {
  bellSuite('PubSub over publish and subscribe', async () => {
    const url = ownRedis()
    const redis = new Redis(url)
    const channel = `gatehouse-test:${randomUUID()}`
    const [one, other] = await Promise.all([redisPubSub(url, { channel }), redisPubSub(url, { channel })])
    return {
      one,
      other,
      cut: () => cutRedis(redis),
      close: async () => {
        await Promise.all([one.close(), other.close()])
        redis.disconnect()
      },
    }
  })
})

/** One contract for PubSub in this process, over PostgreSQL and over Redis. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import postgres from 'postgres'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { localPubSub, type Hint, type PubSub } from '../../../src/store/pubsub/pubsub.ts'
import { postgresPubSub } from '../../../src/store/pubsub/postgres-pubsub.ts'
import { redisPubSub } from '../../../src/store/pubsub/redis-pubsub.ts'
import { hasPostgres, hasRedis, postgresDatabase } from '../../support/databases.ts'
import { cutRedis, ownRedis } from '../../support/redis-cut.ts'
import { bellSuite } from '../../suites/pubsub.suite.ts'

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
  const heard = cameTo(to, id)
  const timer = setInterval(() => from.publish([cancelOf(id)]), 20)
  await heard.finally(() => clearInterval(timer))
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

  it('is nothing while no other process listens', async () => {
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

  it('is everything from the moment when another process listens, and nothing more once it has ended', async () => {
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

  it('is everything again after its own connection was lost, for those that began to listen meanwhile', async () => {
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

/** A project's feed under concurrent transactions: whoever commits late is neither skipped nor told twice. */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, type Connection } from '../../../src/store/db/connect.ts'
import { query } from '../../../src/store/db/database.ts'
import { migrate } from '../../../src/store/db/migrate.ts'
import { localPubSub, type PubSub } from '../../../src/store/pubsub/pubsub.ts'
import { feedSource, startBroadcaster, type EventBroadcaster } from '../../../src/store/events/broadcaster.ts'
import { numberAll } from '../../../src/store/events/numbering.ts'
import { beginning, type Position } from '../../../src/store/events/position.ts'
import { readFeed, type EventRow } from '../../../src/store/events/read.ts'
import { openStream } from '../../../src/store/events/stream.ts'
import { hasPostgres, postgresDatabase } from '../../support/databases.ts'
import { append, appendSlowly, makeGenerations, someEvents } from '../../support/log-writer.ts'
import { randomSchedule } from '../../support/random.ts'

const random = randomSchedule()

describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
  let connection: Connection
  let drop: () => Promise<void>
  let pubsub: PubSub
  let broadcaster: EventBroadcaster
  const desk = () => ({ db: connection.db, pubsub })

  beforeAll(async () => {
    if (!hasPostgres) return
    const made = await postgresDatabase()
    drop = made.drop
    connection = await connect({ kind: 'postgres', url: made.url, poolSize: 12 })
    await migrate(connection)
    pubsub = localPubSub()
    broadcaster = startBroadcaster(connection.db, pubsub)
  })
  afterAll(async () => {
    broadcaster?.close()
    await connection?.close()
    await drop?.()
  })

  const placeOf = (event: EventRow) => `${event.generationId}/${event.seq}`

  /** Follows the feed until it has returned `count` events. Returns their generations and sequence numbers. */
  async function follow(projectId: string, count: number, types: string[] | null = null): Promise<string[]> {
    const source = feedSource(connection.db, projectId)
    const stream = openStream(broadcaster, { source, after: beginning, deltas: false, types })
    const places: string[] = []
    for await (const item of stream) {
      if ('event' in item) places.push(placeOf(item.event))
      if (places.length === count) break
    }
    return places
  }

  async function inTable(projectId: string): Promise<string[]> {
    const rows = await query<{ place: string }>(
      connection.db,
      sql`select generation_id || '/' || seq as place from events where project_id = ${projectId}
        order by position`,
    )
    return rows.map((row) => row.place)
  }

  test('an event that is written first and committed last is told last, and delays nobody', async () => {
    const projectId = 'proj_late'
    const [slow, quick] = await makeGenerations(connection.db, projectId, 2)
    let release = () => {}
    let written = () => {}
    const hold = new Promise<void>((resolve) => (release = resolve))
    const begun = new Promise<void>((resolve) => (written = resolve))
    const late = appendSlowly(desk(), projectId, slow!, someEvents(1), () => (written(), hold))
    await begun
    const told = follow(projectId, 2)
    await append(desk(), projectId, quick!, someEvents(1))
    expect(await follow(projectId, 1)).toEqual([`${quick}/1`])
    const before = await readFeed(connection.db, projectId, beginning, 100)
    release()
    await late
    expect(await told).toEqual([`${quick}/1`, `${slow}/1`])
    const after = await readFeed(connection.db, projectId, before.end, 100)
    expect(after.events.map(placeOf)).toEqual([`${slow}/1`])
  })

  test.each([
    ['every kind', null],
    ['one kind of two', ['MESSAGE_COMMITTED']],
  ])('writers with transactions of any length lose nothing to a reader of %s', async (_name, types) => {
    const projectId = `proj_race_${types ? 'some' : 'all'}`
    const ids = await makeGenerations(connection.db, projectId, 8)
    const rounds = 60
    const told = follow(projectId, ids.length * rounds, types)
    await Promise.all(
      ids.map(async (id) => {
        for (let i = 0; i < rounds; i++) {
          const hold = () => new Promise((resolve) => setTimeout(resolve, random() * 12))
          if (random() < 0.5) await appendSlowly(desk(), projectId, id, someEvents(1), hold)
          else await append(desk(), projectId, id, someEvents(1))
        }
      }),
    )
    expect(await told).toEqual(await inTable(projectId))
    expect(broadcaster.topicCount()).toBe(0)
  })

  test('pages of any size, read while others write, add up to the whole in one order', async () => {
    const projectId = 'proj_pages'
    const ids = await makeGenerations(connection.db, projectId, 6)
    let writing = true
    const writers = Promise.all(
      ids.map(async (id) => {
        for (let i = 0; i < 50; i++)
          await appendSlowly(
            desk(),
            projectId,
            id,
            someEvents(1 + (i % 3)),
            () => new Promise((r) => setTimeout(r, random() * 6)),
          )
      }),
    ).then(() => (writing = false))
    const places: string[] = []
    let at: Position = beginning
    for (let more = true; writing || more;) {
      const finished = !writing
      if (finished || random() < 0.3) await numberAll(connection.db, pubsub)
      const page = await readFeed(connection.db, projectId, at, 1 + Math.floor(random() * 9))
      places.push(...page.events.map(placeOf))
      at = page.end
      more = page.more || !finished
    }
    await writers
    expect(places).toEqual(await inTable(projectId))
  })
})

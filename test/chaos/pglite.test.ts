/** One process on an embedded database, killed again and again while it works; the directory must survive it all. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { afterAll, expect, test } from 'vitest'
import { buildServer } from '../support/build.ts'
import { dose } from '../support/dose.ts'
import { embeddedDatabase } from '../support/databases.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import { prepare, startClients } from './clients.ts'
import { judge, orphans } from './judgement.ts'
import { startOutside } from './outside.ts'
import { randomSchedule } from '../support/random.ts'

const random = randomSchedule()

/** Fewer than on PostgreSQL: an embedded database opens in seconds, not in milliseconds. */
const generations = dose(40, 64)
const kills = dose(4, 8)
const key = 'gh_chaos_operator_012345678901234567890123456789012'
const closers: (() => unknown)[] = []

const entry: string = (await buildServer()).entry
const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-chaos-'))
closers.push(() => rm(dataDir, { recursive: true, force: true }))
await embeddedDatabase(dataDir)
const outside = await startOutside(250)
closers.push(() => outside.close())
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

function start(): Replica {
  const replica = startReplica(entry, {
    GATEHOUSE_DATA_DIR: dataDir,
    GATEHOUSE_PORT: '0',
    GATEHOUSE_DEMO: 'false',
    GATEHOUSE_ADMIN_KEY: key,
    GATEHOUSE_LEASE_MS: '1500',
    GATEHOUSE_EGRESS_ALLOW: outside.address,
    GATEHOUSE_REQUESTS_PER_MINUTE: '1000000',
    GATEHOUSE_LOG_LEVEL: 'error',
  })
  closers.push(() => replica.kill())
  return replica
}

/** The tables as another program reads them after the process has ended. */
async function read(
  work: (rows: (text: string) => Promise<Record<string, any>[]>) => Promise<void>,
): Promise<void> {
  const database = await PGlite.create(join(dataDir, 'db'))
  try {
    await work(async (text) => (await database.query<Record<string, any>>(text)).rows)
  } finally {
    await database.close()
  }
}

test(
  'an embedded database whose process is killed repeatedly loses nothing that was acknowledged',
  { timeout: 720_000 },
  async () => {
    let server = start()
    await server.ready
    const agentId = await prepare(server.url, key, outside)
    const anyUrl = () => server.url || 'http://127.0.0.1:9'
    // So slow that the last one is started not long before the last kill.
    const clients = startClients({ key, agentId, generations, everyMs: 400, anyUrl })
    closers.push(() => clients.close())
    let mostUnfinished = 0
    for (let n = 1; n <= kills; n++) {
      await new Promise((resolve) => setTimeout(resolve, 1000 + random() * 2500))
      await server.kill()
      if (n === kills / 2)
        await read(async (rows) => {
          expect(await rows(orphans), 'orphans in the middle of the storm').toEqual([])
          const [open] = await rows('select count(*)::int as n from generations where finished_at is null')
          mostUnfinished = open!['n']
          const ids = new Set((await rows('select id from generations')).map((row) => row['id']))
          expect([...clients.started.values()].filter((id) => !ids.has(id))).toEqual([])
        })
      server = start()
      await server.ready
    }
    await clients.ended
    await clients.close()
    expect(await server.stop(), 'it drains on SIGTERM').toBe(0)
    await read(async (rows) => {
      const tally = await judge(rows, clients, outside, generations)
      console.log('chaos on PGlite', {
        kills,
        mostUnfinished,
        ...tally,
        feedConnections: clients.connections,
      })
      expect(clients.connections, 'the feed went on over restarts').toBeGreaterThanOrEqual(2)
      expect(mostUnfinished, 'the check for orphans looked at live generations').toBeGreaterThan(0)
      expect(tally.unknown + tally.retriedReads + tally.resets, 'work that was cut').toBeGreaterThan(0)
    })
  },
)

test(
  'a second process on the same directory is refused, with a message that says what to do',
  { timeout: 180_000 },
  async () => {
    const first = start()
    await first.ready
    const second = start()
    await expect(second.ready).rejects.toThrow(/ended before it was ready \(1\)/)
    expect(second.output()).toBe(
      `The data directory ${join(dataDir, 'db')} is in use by process ${first.pid}. An embedded database has one process ` +
        'at a time: stop that process, choose another directory with GATEHOUSE_DATA_DIR, or set DATABASE_URL to a PostgreSQL server.\n',
    )
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200)
    expect(await first.stop()).toBe(0)
  },
)

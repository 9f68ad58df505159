/** An embedded database under load whose server is ended by SIGTERM and replaced: by one of this release, one of that before, and this one again. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { afterAll, expect, test } from 'vitest'
import { buildReleaseBefore, buildServer } from '../support/build.ts'
import { dose } from '../support/dose.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import { prepare, startClients } from './clients.ts'
import { judge } from './judgement.ts'
import { startOutside } from './outside.ts'

const generations = dose(12, 120)
const key = 'gh_chaos_operator_012345678901234567890123456789012'
const closers: (() => unknown)[] = []
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

test(
  'an embedded database is upgraded in the middle of work, goes back, and is upgraded again: nothing is lost',
  { timeout: 720_000 },
  async () => {
    const [{ entry }, before] = await Promise.all([buildServer(), buildReleaseBefore()])
    const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-upgrade-'))
    closers.push(() => rm(dataDir, { recursive: true, force: true }))
    const outside = await startOutside(100)
    closers.push(() => outside.close())
    const start = (program: string): Replica => {
      const replica = startReplica(program, {
        GATEHOUSE_DATA_DIR: dataDir,
        GATEHOUSE_PORT: '0',
        GATEHOUSE_DEMO: 'false',
        GATEHOUSE_ADMIN_KEY: key,
        GATEHOUSE_EGRESS_ALLOW: outside.address,
        GATEHOUSE_REQUESTS_PER_MINUTE: '1000000',
        GATEHOUSE_DRAIN_MS: '0',
        GATEHOUSE_LOG_LEVEL: 'error',
      })
      closers.push(() => replica.kill())
      return replica
    }
    let server = start(before ?? entry)
    await server.ready
    const agentId = await prepare(server.url, key, outside, 5)
    const clients = startClients({
      key,
      agentId,
      generations,
      everyMs: 150,
      anyUrl: () => server.url || 'http://127.0.0.1:9',
    })
    closers.push(() => clients.close())
    for (const [i, program] of [entry, before ?? entry, entry].entries()) {
      await expect.poll(() => clients.started.size).toBeGreaterThan((generations * (i + 1)) / 4)
      expect(await server.stop()).toBe(0)
      server = start(program)
      await server.ready
    }
    await clients.ended
    await clients.close()
    expect(await server.stop()).toBe(0)
    const database = await PGlite.create(join(dataDir, 'db'))
    closers.push(() => database.close())
    const rows = async (text: string) => (await database.query<Record<string, any>>(text)).rows
    const tally = await judge(rows, clients, outside, generations)
    expect(tally.unknown, 'calls with an unknown outcome').toBe(0)
  },
)

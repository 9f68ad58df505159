/** A server with gate fixtures on one of the databases, for tests of races that each of them could lose in its own way. */
import type { Config } from '../../src/config.ts'
import { hasPostgres, postgresDatabase } from './databases.ts'
import { makeFixtures, type Fixtures } from './fixtures.ts'
import { gateFixtures, type GateFixtures } from './gate-fixtures.ts'
import { openHarness, type Harness } from './harness.ts'

/** The name of each database, and whether it can be reached. */
export const gateDatabases: [name: string, answers: boolean][] = [
  ['the embedded database', true],
  ['PostgreSQL', hasPostgres],
]

export interface GateOn {
  h: Harness
  fixtures: Fixtures
  gate: GateFixtures
  close(): Promise<void>
}

/** Opens it on the database of this name. */
export async function openGateOn(name: string, config: Partial<Config> = {}): Promise<GateOn> {
  const made = name === 'PostgreSQL' ? await postgresDatabase() : null
  const h = await openHarness({ ...config, databaseUrl: made?.url ?? null })
  const fixtures = await makeFixtures(h)
  return {
    h,
    fixtures,
    gate: gateFixtures(h, fixtures),
    async close() {
      await fixtures.close()
      await h.stop()
      await made?.drop()
    },
  }
}

/**
 * SIGKILL while a server migrates an empty database: the next one goes on with the first migration that is missing, and the
 * schema is the same as without a kill.
 */
import { execFileSync } from 'node:child_process'
import { afterAll, expect, inject, test } from 'vitest'
import postgres from 'postgres'
import { knownMigrations } from '../../src/store/db/migrations.ts'
import { buildServer } from '../support/build.ts'
import { emptyPostgresDatabase, hasPostgres, postgresDatabase } from '../support/databases.ts'
import { dose, seededRandom } from '../support/dose.ts'
import { startReplica } from '../support/replica.ts'

const closers: (() => unknown)[] = []
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

/** The schema as pg_dump prints it, without what it says about itself. */
const schemaOf = (url: string) =>
  execFileSync('pg_dump', ['--schema-only', '--no-owner', `--dbname=${url}`], {
    encoding: 'utf8',
  }).replaceAll(/^(--|\\(un)?restrict).*\n/gm, '')

const migrations = knownMigrations().length
const random = seededRandom(inject('seed'))
/** How many are done when the process is killed: a few of them, or each. */
const places = Array.from({ length: migrations }, (_, i) => i)
  .map((place) => ({ place, at: random() }))
  .toSorted((a, b) => a.at - b.at)
  .slice(0, dose(3, migrations))
  .map(({ place }) => place)

test.skipIf(!hasPostgres)(
  'is taken up where it was cut off',
  { timeout: 180_000 + places.length * 20_000 },
  async () => {
    const whole = await postgresDatabase()
    closers.push(() => whole.drop())
    const expected = schemaOf(whole.url)
    const { entry } = await buildServer()
    for (const place of places) {
      const made = await emptyPostgresDatabase()
      closers.push(() => made.drop())
      const sql = postgres(made.url, { max: 1, onnotice: () => {} })
      closers.push(() => sql.end())
      const applied = () =>
        sql`select count(*)::int as n from gatehouse_migrations`.then(
          ([row]) => row!['n'] as number,
          () => 0,
        )
      const settings = {
        GATEHOUSE_PORT: '0',
        GATEHOUSE_DEMO: 'false',
        GATEHOUSE_LOG_LEVEL: 'error',
        GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
        GATEHOUSE_ADMIN_KEY: 'gh_migrations_operator_012345678901234567890123456789',
        DATABASE_URL: made.url,
      }
      const killed = startReplica(entry, settings)
      closers.push(() => killed.kill())
      while ((await applied()) < place);
      await killed.kill()
      expect(await applied()).toBeGreaterThanOrEqual(place)
      const next = startReplica(entry, settings)
      closers.push(() => next.kill())
      await next.ready
      expect(await applied()).toBe(migrations)
      expect(schemaOf(made.url)).toBe(expected)
      await next.kill()
    }
  },
)

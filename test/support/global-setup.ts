/**
 * Migrates one embedded database and, where it is reachable, one on PostgreSQL, so that every test file gets a copy in
 * half a second; and builds the dashboard when it is stale and there is a browser for it: once, for files that run side
 * by side.
 */
import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { drizzle } from 'drizzle-orm/pglite'
import { connect } from '../../src/store/db/connect.ts'
import { migrate } from '../../src/store/db/migrate.ts'
import { hasChromium } from './chromium-path.ts'
import { answersPostgres, createDatabase } from './postgres-server.ts'

interface Provided {
  /** The path of the dump of an embedded database. */
  dump: string
  /** Of all random schedules of this run. */
  seed: number
  /** The name of a database on PostgreSQL that others are copies of; null where there is none. */
  template: string | null
}

type Provide = <Key extends keyof Provided>(key: Key, value: Provided[Key]) => void

export default async function setup({ provide }: { provide: Provide }) {
  if (hasChromium)
    execFileSync(process.execPath, ['tools/build-when-stale.mjs', '--web'], { stdio: 'inherit' })
  const seed = Number(process.env['CHAOS_SEED'] ?? randomInt(2 ** 31))
  console.log(`Random schedules of this run: CHAOS_SEED=${seed}`)
  provide('seed', seed)
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-test-'))
  provide('dump', await dumpEmbedded(folder))
  const template = (await answersPostgres()) ? await migratedTemplate() : null
  provide('template', template && new URL(template.url).pathname.slice(1))
  return async () => {
    await template?.drop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function dumpEmbedded(folder: string): Promise<string> {
  // A segment of the usual 16 MB would be most of what every copy carries.
  const client = await PGlite.create({ initDbStartParams: ['--wal-segsize=1'] })
  const db = drizzle(client) as never
  await migrate({ db, schema: 'public', openSession: null, openPooled: null })
  // Every copy would carry them, and they are half of it. The template of a database is not needed again.
  await client.exec(`update pg_database set datistemplate = false; checkpoint`)
  for (const name of ['template0', 'template1']) await client.exec(`drop database ${name}`)
  const dump = await client.dumpDataDir('none')
  await client.close()
  const path = join(folder, 'migrated.tar')
  await writeFile(path, Buffer.from(await dump.arrayBuffer()))
  return path
}

/** A template must have no connections. */
async function migratedTemplate() {
  const template = await createDatabase(null)
  const connection = await connect({ kind: 'postgres', url: template.url, poolSize: 2 })
  await migrate(connection).finally(() => connection.close())
  return template
}

declare module 'vitest' {
  interface ProvidedContext extends Provided {}
}

/**
 * Migrates one embedded database and stores its dump, so that every test file gets a copy in half a second; and builds the
 * dashboard when it is stale and there is a browser for it: once, for files that run side by side.
 */
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { drizzle } from 'drizzle-orm/pglite'
import { migrate } from '../../src/store/db/migrate.ts'
import { hasChromium } from './chromium-path.ts'

export default async function setup({ provide }: { provide(key: 'dump', value: string): void }) {
  if (hasChromium)
    execFileSync(process.execPath, ['tools/build-when-stale.mjs', '--web'], { stdio: 'inherit' })
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-test-'))
  const client = await PGlite.create()
  const db = drizzle(client) as never
  await migrate({
    db,
    leaseDb: db,
    kind: 'pglite',
    openSession: null,
    statementCount: null,
    close: async () => {},
  })
  const dump = await client.dumpDataDir('none')
  await client.close()
  const path = join(folder, 'migrated.tar')
  await writeFile(path, Buffer.from(await dump.arrayBuffer()))
  provide('dump', path)
  return () => rm(folder, { recursive: true, force: true })
}

declare module 'vitest' {
  interface ProvidedContext {
    dump: string
  }
}

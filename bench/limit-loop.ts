/** The process that measures the limit: its first argument is the URL of an empty database, or nothing for PGlite. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PGlite } from '@electric-sql/pglite'
import postgres from 'postgres'
import { commitsOfUnit, type Limit } from './limit.ts'
import { inLanes } from './statistics.ts'

/** About 400 bytes of JSON, as a row and as an event have. */
const data = { text: 'x'.repeat(380) }
const tables = [
  'create table g (id text primary key, status text not null, n int not null, data jsonb not null)',
  `create table events (id bigserial primary key, g text not null, seq int not null, data jsonb not null,
     unique (g, seq))`,
]

interface Loop {
  unit(id: string): Promise<void>
  close(): Promise<void>
}

async function overPostgres(url: string): Promise<Loop> {
  const sql = postgres(url, { max: 20, onnotice: () => {} })
  for (const table of tables) await sql.unsafe(table)
  return {
    async unit(id) {
      await sql`with g as (insert into g values (${id}, 'QUEUED', 1, ${sql.json(data)}) returning id, n)
        insert into events (g, seq, data) select id, n, ${sql.json(data)} from g`
      for (let i = 1; i < commitsOfUnit; i++)
        await sql`with u as (update g set n = n + 1, data = ${sql.json(data)} where id = ${id} returning id, n)
          insert into events (g, seq, data) select id, n, ${sql.json(data)} from u`
    },
    close: () => sql.end(),
  }
}

async function overPglite(): Promise<Loop> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-limit-'))
  const db = await PGlite.create(join(folder, 'db'))
  for (const table of tables) await db.exec(table)
  const text = JSON.stringify(data)
  return {
    async unit(id) {
      await db.query(
        `with g as (insert into g values ($1, 'QUEUED', 1, $2::jsonb) returning id, n)
         insert into events (g, seq, data) select id, n, $2::jsonb from g`,
        [id, text],
      )
      for (let i = 1; i < commitsOfUnit; i++)
        await db.query(
          `with u as (update g set n = n + 1, data = $2::jsonb where id = $1 returning id, n)
           insert into events (g, seq, data) select id, n, $2::jsonb from u`,
          [id, text],
        )
    },
    async close() {
      await db.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function measure(url: string): Promise<Limit> {
  const loop = url ? await overPostgres(url) : await overPglite()
  // PGlite does about a twentieth of the work in the same time.
  const size = url ? 1 : 0.2
  let n = 0
  const one = () => loop.unit(`gen_${++n}`)
  await inLanes(800 * size, 32, one)
  const total = 3000 * size
  const before = process.cpuUsage()
  const seconds = await inLanes(total, 32, one)
  const { user, system } = process.cpuUsage(before)
  const alone = 300 * size
  const unitMs = ((await inLanes(alone, 1, one)) * 1000) / alone
  await loop.close()
  return { unitsPerSecond: total / seconds, cpuMs: (user + system) / 1000 / total, unitMs }
}

if (process.send && process.argv[1] === fileURLToPath(import.meta.url))
  process.send(await measure(process.argv[2] ?? ''), () => process.exit(0))

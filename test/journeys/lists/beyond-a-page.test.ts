/** What is looked for among many things is found behind the first page of them. */
import { afterEach, expect, test } from 'vitest'
import { embeddedDatabase, hasPostgres, postgresDatabase } from '../../support/databases.ts'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { query } from '../../../src/store/db/database.ts'
import { sql } from '../../../src/store/db/sql.ts'
import { openHarness, type Harness } from '../../support/harness.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** Copies a row of a table so often, with another id and name. */
const copies = (h: Harness, table: string, where: string, many: number) =>
  query(
    h.app.services.db,
    sql.raw(`insert into ${table} select (jsonb_populate_record(t, jsonb_build_object(
        'id', t.id || n, 'name', t.name || ' copy ' || n, 'hash', md5(random()::text),
        'created_at', now(), 'definition', jsonb_set(to_jsonb(t)->'definition', '{name}', to_jsonb(t.name || ' copy ' || n))))).*
      from ${table} as t, generate_series(1, ${many}) as n where ${where}`),
  )

async function start(): Promise<() => Promise<Harness>> {
  if (hasPostgres) {
    const database = await postgresDatabase()
    closers.push(() => database.drop())
    return () => openHarness({ demo: true, databaseUrl: database.url })
  }
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-pages-'))
  closers.push(() => rm(folder, { recursive: true, force: true }))
  await embeddedDatabase(folder)
  return () => openHarness({ demo: true }, { database: { kind: 'pglite', directory: join(folder, 'db') } })
}

test('a demo with hundreds of tools and agents starts again, and is the same', async () => {
  const open = await start()
  const first = await open()
  const agentId = first.app.demo!.agentId
  await copies(first, 'tools', `name in ('get_weather', 'send_refund')`, 150)
  await copies(first, 'agents', `name = 'demo'`, 250)
  await first.stop()
  const again = await open()
  closers.push(() => again.stop())
  expect(again.app.demo!.agentId).toBe(agentId)
})

test('who made a thousand keys and more reaches what each of them asked for', async () => {
  const h = await openHarness()
  closers.push(() => h.stop())
  const key = async (name: string) => {
    const made = await h.mutate('createApiKey', { name, role: 'CALLER' }, 'secret apiKey { id }')
    return { id: made['apiKey'].id as string, secret: made['secret'] as string }
  }
  const [maker, made, other] = [await key('maker'), await key('made'), await key('other')]
  await copies(h, 'api_keys', `id = '${made.id}'`, 1200)
  const { db } = h.app.services
  await query(db, sql`update api_keys set created_by = ${maker.id} where name like 'made%'`)
  const { agent } = await h.mutate('createAgent', { name: 'one' }, 'agent { id }')
  const ask = async (by: string) => {
    const input = { agentId: agent.id, prompt: 'say hi' }
    const { generation } = await h.mutate('startGeneration', input, 'generation { id }', made.secret)
    await query(db, sql`update generations set requested_by = ${by} where id = ${generation.id}`)
    return generation.id as string
  }
  const theirs = new Set<string>()
  // Whatever the order in which a database reads them, one of these is not among the first thousand.
  for (const n of [1, 600, 1100, 1200]) theirs.add(await ask(`${made.id}${n}`))
  const foreign = await ask(other.id)
  for (const id of theirs) {
    const { data } = await h.gql('query($id: ID!) { generation(id: $id) { id } }', { id }, maker.secret)
    expect(data['generation']).toEqual({ id })
  }
  const { data } = await h.gql(
    'query($id: ID!) { generation(id: $id) { id } generations { nodes { id } } }',
    { id: foreign },
    maker.secret,
  )
  expect(data['generation']).toBeNull()
  expect(new Set(data['generations'].nodes.map(({ id }: { id: string }) => id))).toEqual(theirs)
})

/** Measures lists, look-ups and the start with a million events and 100,000 waiting generations, against an empty database. */
import postgres from 'postgres'
import { createApp } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import { key, openServer, type BenchServer } from './server.ts'
import { ms, percentile, show } from './table.ts'

const generations = 100_000
const eventsEach = 10

async function fill(databaseUrl: string): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  await sql`insert into generations (id, project_id, agent_id, agent_version, thread_id, status, settings, input, requested_by,
      last_seq, deadline_at, wake_at, created_at, started_at)
    select 'gen_' || lpad(g::text, 24, '0'), (select id from projects limit 1), 'agt_none', 1, 'thr_' || g, 'WAITING', '{}', '[]', 'key_none',
      ${eventsEach}, now() + interval '1 day', now() + interval '1 day', now() - g * interval '1 millisecond', now()
    from generate_series(1, ${generations}) g`
  await sql`insert into events (project_id, generation_id, seq, type, data, commit_order)
    select (select id from projects limit 1), 'gen_' || lpad(g::text, 24, '0'), n, 'MESSAGE_COMMITTED', '{"stepIndex":1}', g
    from generate_series(1, ${generations}) g, generate_series(1, ${eventsEach}) n`
  await sql`analyze`
  await sql.end()
}

async function timeOf(services: BenchServer, query: string, variables = {}): Promise<string> {
  const times: number[] = []
  for (let i = 0; i < 220; i++) {
    const began = performance.now()
    await services.gql(query, variables)
    if (i >= 20) times.push(performance.now() - began)
  }
  return `${ms(percentile(times, 0.5))} / ${ms(percentile(times, 0.99))}`
}

async function startTime(databaseUrl: string): Promise<number> {
  const began = performance.now()
  const config = loadConfig({
    GATEHOUSE_PORT: '0',
    GATEHOUSE_ADMIN_KEY: key,
    GATEHOUSE_LOG_LEVEL: 'error',
    DATABASE_URL: databaseUrl,
  })
  const app = await createApp({ ...config, demo: false, secretKey: Buffer.alloc(32) })
  const took = performance.now() - began
  await app.stop(500)
  return ms(took)
}

async function measure(services: BenchServer, id: string): Promise<Record<string, string | number>> {
  const after = (await services.gql('{ generations(first: 50) { pageInfo { endCursor } } }'))['generations']
    .pageInfo.endCursor
  return {
    'list of 50': await timeOf(services, '{ generations(first: 50) { nodes { id status } } }'),
    'its second page': await timeOf(
      services,
      'query($a: String) { generations(first: 50, after: $a) { nodes { id } } }',
      { a: after },
    ),
    'node by id': await timeOf(services, 'query($id: ID!) { node(id: $id) { id } }', { id }),
    'events of one': await timeOf(
      services,
      'query($id: ID!) { generation(id: $id) { events(first: 10) { nodes { cursor } } } }',
      { id },
    ),
    'start ms': await startTime(services.databaseUrl!),
  }
}

export async function measureScale(): Promise<void> {
  const services = await openServer('postgres')
  const id = `gen_${'7'.padStart(24, '0')}`
  const empty = { database: 'empty', ...(await measure(services, id)) }
  await fill(services.databaseUrl!)
  const full = {
    database: `${generations} waiting, ${generations * eventsEach} events`,
    ...(await measure(services, id)),
  }
  await services.close()
  show('Flat with size: p50 / p99 in ms', [empty, full])
}

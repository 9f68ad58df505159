/** Measures lists, look-ups and the start with a million events and 100,000 waiting generations, against an empty database. */
import postgres from 'postgres'
import { report } from './report.ts'
import { openServer, type BenchServer } from './server.ts'
import { percentile, timed } from './statistics.ts'

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

/** The median of 200 requests, in milliseconds. */
async function timeOf(server: BenchServer, query: string, variables = {}): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 220; i++) {
    const took = await timed(() => server.gql(query, variables))
    if (i >= 20) times.push(took)
  }
  return percentile(times, 0.5)
}

/** Milliseconds until a further process on the same database is ready. */
async function startTime(databaseUrl: string): Promise<number> {
  const began = performance.now()
  const server = await openServer('postgres', { databaseUrl })
  const took = performance.now() - began
  await server.close()
  return took
}

async function measure(server: BenchServer, id: string): Promise<Record<string, number>> {
  const first = await server.gql('{ generations(first: 50) { pageInfo { endCursor } } }')
  const after = first['generations'].pageInfo.endCursor
  const second = 'query($a: String) { generations(first: 50, after: $a) { nodes { id } } }'
  const events = 'query($id: ID!) { generation(id: $id) { events(first: 10) { nodes { cursor } } } }'
  return {
    'list of 50 ms': await timeOf(server, '{ generations(first: 50) { nodes { id status } } }'),
    'its second page ms': await timeOf(server, second, { a: after }),
    'node by id ms': await timeOf(server, 'query($id: ID!) { node(id: $id) { id } }', { id }),
    'events of one ms': await timeOf(server, events, { id }),
    'start ms': await startTime(server.databaseUrl!),
  }
}

export async function measureScale(): Promise<void> {
  const server = await openServer('postgres')
  const id = `gen_${'7'.padStart(24, '0')}`
  const empty = await measure(server, id)
  await fill(server.databaseUrl!)
  const full = await measure(server, id)
  await server.close()
  const ratio = Object.fromEntries(Object.entries(full).map(([name, value]) => [name, value / empty[name]!]))
  report('scale', 'Flat with size: medians', [
    { case: 'empty', figures: empty },
    { case: `${generations} waiting, ${generations * eventsEach} events`, figures: full },
    { case: 'ratio', figures: ratio },
  ])
}

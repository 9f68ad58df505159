/**
 * Measures lists, look-ups, the start, units and the feed with a million generations (100,000 of them waiting) and ten
 * million events, against an empty database.
 */
import postgres from 'postgres'
import { report } from './report.ts'
import { cpuDuring, openServer, type BenchServer } from './server.ts'
import { inLanes, percentile, timed } from './statistics.ts'
import { unitsOn, type Units } from './unit.ts'

const generations = 1_000_000
const waiting = 100_000
const eventsEach = 10
/** Generations that one statement inserts, with their events. */
const batch = 50_000

/** Old rows, as a server of a long life has them: numbered events, and statistics that the planner knows. */
async function fill(databaseUrl: string): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  const [{ newest }] = (await sql`select coalesce(max(position), 0)::int as newest from events`) as any
  for (let first = 1; first <= generations; first += batch) {
    const numbers = sql`generate_series(${first}::int, ${first + batch - 1}::int) g`
    await sql`insert into generations (id, project_id, agent_id, agent_version, thread_id, status, settings, input, requested_by,
        last_seq, deadline_at, wake_at, created_at, started_at, finished_at)
      select 'gen_' || lpad(g::text, 24, '0'), (select id from projects limit 1), 'agt_none', 1, 'thr_' || g,
        case when g <= ${waiting} then 'WAITING' else 'COMPLETED' end, '{}', '[]', 'key_none',
        ${eventsEach}, now() + interval '1 day', case when g <= ${waiting} then now() + interval '1 day' end,
        now() - g * interval '1 millisecond', now(), case when g > ${waiting} then now() end
      from ${numbers}`
    await sql`insert into events (project_id, generation_id, seq, type, data, commit_order, position)
      select (select id from projects limit 1), 'gen_' || lpad(g::text, 24, '0'), n, 'MESSAGE_COMMITTED', '{"stepIndex":1}',
        1, ${newest} + (g - 1) * ${eventsEach} + n
      from ${numbers}, generate_series(1, ${eventsEach}) n`
  }
  // What the filling has left to do must not be counted as the cost of what is there.
  await sql`vacuum (analyze) generations, events`
  await sql`checkpoint`
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

async function measure(server: BenchServer, units: Units, id: string): Promise<Record<string, number>> {
  // First, so that even the empty database has enough rows for a page.
  const cost = await costOf(units, server)
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
    ...cost,
  }
}

/** Units with a subscriber to the feed, one by one and 16 at once, and the CPU time of the server for each. */
async function costOf(units: Units, server: BenchServer): Promise<Record<string, number>> {
  await inLanes(100, 16, units.one)
  const alone = (await inLanes(100, 1, units.one)) * 10
  let seconds = 0
  const cpu = await cpuDuring(server, async () => {
    seconds = await inLanes(600, 16, units.one)
  })
  return { 'unit ms': alone, 'unit at 16 ms': (seconds * 1000) / 600, 'CPU of it ms': cpu / 600 }
}

export async function measureScale(): Promise<void> {
  const server = await openServer('postgres')
  const id = `gen_${'7'.padStart(24, '0')}`
  const units = await unitsOn(server)
  const empty = await measure(server, units, id)
  await fill(server.databaseUrl!)
  const full = await measure(server, units, id)
  await units.close()
  await server.close()
  const ratio = Object.fromEntries(Object.entries(full).map(([name, value]) => [name, value / empty[name]!]))
  report('scale', 'Flat with size: medians', [
    { case: 'empty', figures: empty },
    {
      case: `${generations} generations, ${waiting} waiting, ${generations * eventsEach} events`,
      figures: full,
    },
    { case: 'ratio', figures: ratio },
  ])
}

/**
 * Measures units on one, two and three processes beside a database whose commits take long, as with a synchronous standby in
 * another place. Each process gets the same load: what one cannot wait for at once, others can.
 */
import { hasClusters, startCluster } from '../test/support/cluster.ts'
import { createDatabase } from './database.ts'
import { report, type Row } from './report.ts'
import { openServer, type BenchServer } from './server.ts'
import { inLanes, percentile } from './statistics.ts'
import { createAgent, unitsOf, type Units } from './unit.ts'

/** What a commit waits at least, in milliseconds: the round trip to a standby. */
const commitMs = 80
const atOnceOfEach = 32
/** Units of each process, before the measurement and in it. */
const warmUp = 100
const measured = 400

/** Units a second of this many processes, and the time until their runs wait. */
async function unitsWith(processes: number, on: string): Promise<{ perSecond: number; waits: number[] }> {
  const database = await createDatabase(on)
  const servers: BenchServer[] = []
  try {
    for (let i = 0; i < processes; i++)
      servers.push(await openServer('postgres', { databaseUrl: database.url }))
    const agentId = await createAgent(servers[0]!)
    const all = await Promise.all(servers.map((server) => unitsOf(server, agentId)))
    const each = (total: number) =>
      Promise.all(all.map((units: Units) => inLanes(total, atOnceOfEach, units.one)))
    await each(warmUp)
    for (const units of all) units.waits.length = 0
    const seconds = await each(measured)
    await Promise.all(all.map((units) => units.close()))
    return {
      perSecond: (processes * measured) / Math.max(...seconds),
      waits: all.flatMap((units) => units.waits),
    }
  } finally {
    for (const server of servers) await server.close()
    await database.drop()
  }
}

export async function measureReplicas(): Promise<void> {
  if (!hasClusters) return
  const cluster = await startCluster({
    commit_delay: String(commitMs * 1000),
    commit_siblings: '0',
    max_connections: '200',
  })
  try {
    const rows: Row[] = []
    let one = Number.NaN
    for (const processes of [1, 2, 3]) {
      const { perSecond, waits } = await unitsWith(processes, cluster.url)
      if (processes === 1) one = perSecond
      rows.push({
        case: `${processes} processes`,
        figures: {
          'units/s': perSecond,
          'ratio to one': perSecond / one,
          'to wait p50 ms': percentile(waits, 0.5),
          'to wait p99 ms': percentile(waits, 0.99),
        },
      })
    }
    report(
      'replicas',
      `Units of replicas whose commits take ${commitMs} ms, ${atOnceOfEach} at once for each`,
      rows,
    )
  } finally {
    await cluster.remove()
  }
}

/** Measures a server that nobody uses: CPU, transactions and memory, and the memory of generations that wait. */
import { transactionsOf } from './database.ts'
import { report } from './report.ts'
import { kinds, openServer, type Kind } from './server.ts'
import { inLanes, pause } from './statistics.ts'
import { unitsOn } from './unit.ts'

const seconds = 30
const waiting = { postgres: 10_000, pglite: 1000 }

async function measureKind(kind: Kind) {
  const server = await openServer(kind)
  // What the start has left to do is over: once, the engine collects what was needed for it only.
  await pause(30_000)
  const transactions = async () => (server.databaseUrl ? transactionsOf(server.databaseUrl) : Number.NaN)
  const counted = await transactions()
  const before = await server.usage()
  await pause(seconds * 1000)
  const after = await server.usage()
  const idle = {
    'CPU ms/s': (after.cpuMs - before.cpuMs) / seconds,
    ...(server.databaseUrl ? { 'transactions/s': ((await transactions()) - counted) / seconds } : {}),
    'RSS MB': after.rss / 1e6,
  }
  const units = await unitsOn(server)
  const count = waiting[kind]
  await inLanes(count, 16, units.startOne)
  await units.close()
  // Within a minute the engine gives back, once, what the load needed.
  await pause(60_000)
  const cpu = await server.usage()
  await pause(10_000)
  const later = await server.usage()
  await server.close()
  return [
    { case: `${kind}, empty`, figures: idle },
    {
      case: `${kind}, ${count} waiting generations`,
      figures: { 'CPU ms/s': (later.cpuMs - cpu.cpuMs) / 10, 'RSS MB': later.rss / 1e6 },
    },
  ]
}

export async function measureIdle(): Promise<void> {
  const rows = []
  for (const kind of kinds) rows.push(...(await measureKind(kind)))
  report('idle', `Idle over ${seconds} seconds, and with generations that wait`, rows)
}

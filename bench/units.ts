/**
 * Measures units: generations that pause for a client tool and resume (start, pause, submit, complete), with the rehearsal
 * model. How many a second, how long until they wait, and the CPU time of the server.
 */
import { betweenLimits, type Limit } from './limit.ts'
import { report, type Row } from './report.ts'
import { cpuDuring, kinds, openServer, type Kind } from './server.ts'
import { inLanes, percentile } from './statistics.ts'
import { unitsOn } from './unit.ts'

interface UnitFigures {
  perSecond: number
  seconds: number
  cpuMs: number
  waits: number[]
}

/** Units before the measurement: the first thousands run code that the engine has not compiled yet. */
const warmUp = { postgres: 3000, pglite: 500 }
const totals = { postgres: { 1: 300, 32: 4000 }, pglite: { 1: 100, 32: 600 } }

async function runUnits(kind: Kind): Promise<Record<1 | 32, UnitFigures>> {
  const server = await openServer(kind)
  const units = await unitsOn(server)
  await inLanes(warmUp[kind], 16, units.one)
  const measure = async (concurrency: 1 | 32): Promise<UnitFigures> => {
    const total = totals[kind][concurrency]
    units.waits.length = 0
    let seconds = 0
    const cpu = await cpuDuring(server, async () => {
      seconds = await inLanes(total, concurrency, units.one)
    })
    return {
      perSecond: total / seconds,
      seconds: seconds / total,
      cpuMs: cpu / total,
      waits: [...units.waits],
    }
  }
  const figures = { 1: await measure(1), 32: await measure(32) }
  await units.close()
  await server.close()
  return figures
}

function rowsOf(kind: Kind, limit: Limit, figures: Record<1 | 32, UnitFigures>): Row[] {
  const [alone, many] = [figures[1], figures[32]]
  return [
    {
      case: `${kind}, 32 at once`,
      figures: {
        'units/s': many.perSecond,
        'limit units/s': limit.unitsPerSecond,
        'ratio units/s': many.perSecond / limit.unitsPerSecond,
        'server CPU ms': many.cpuMs,
        'ratio CPU': many.cpuMs / limit.cpuMs,
        'to wait p50 ms': percentile(many.waits, 0.5),
        'to wait p99 ms': percentile(many.waits, 0.99),
      },
    },
    {
      case: `${kind}, one by one`,
      figures: {
        'unit ms': alone.seconds * 1000,
        'limit unit ms': limit.unitMs,
        'ratio unit': (alone.seconds * 1000) / limit.unitMs,
        'server CPU ms': alone.cpuMs,
        'to wait p50 ms': percentile(alone.waits, 0.5),
        'to wait p99 ms': percentile(alone.waits, 0.99),
        'ratio to wait': percentile(alone.waits, 0.5) / limit.unitMs,
      },
    },
  ]
}

export async function measureUnits(): Promise<void> {
  const rows: Row[] = []
  for (const kind of kinds) {
    const { limit, result } = await betweenLimits(kind, () => runUnits(kind))
    rows.push(...rowsOf(kind, limit, result))
  }
  report('units', 'Units (start, pause for a client tool, submit, complete); client in another process', rows)
}

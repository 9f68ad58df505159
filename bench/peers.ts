/**
 * Measures units on Gatehouse and on the frameworks of tools/bench-peers in one run, in turns, with one model server for all:
 * a run calls a tool, waits for its output from outside, is resumed by it and completes.
 */
import { startPeer } from './peer.ts'
import { hasFrameworks, openPeers, type UnitPeer } from './peer-units.ts'
import { report, type Row } from './report.ts'
import { cpuDuring } from './server.ts'
import { inTime, percentile } from './statistics.ts'

/** Seconds of each; the first ones run code that the engine has not compiled yet. */
const seconds = { warmUp: 12, alone: 4, many: 4 }
const rounds = 3

interface Figures {
  done: number
  seconds: number
  cpuMs: number
  waits: number[]
  ends: number[]
}

export async function measurePeers(): Promise<void> {
  if (!hasFrameworks)
    return console.error(
      'SKIPPED LOUDLY: the frameworks are not installed. Run: npm ci --prefix tools/bench-peers --ignore-scripts',
    )
  const model = await startPeer('model')
  const peers: UnitPeer[] = []
  try {
    for (const open of openPeers) peers.push(await open(`${model.url}/v1`))
    report('peers', 'Units beside other frameworks, in turns; one model server for all', await compare(peers))
  } finally {
    for (const peer of peers) await peer.close()
    await model.close()
  }
}

/** Alternates between all, so that other load on the machine affects each. */
async function compare(peers: UnitPeer[]): Promise<Row[]> {
  const measured = peers.map((peer) => ({ peer, alone: nothing(), many: nothing() }))
  for (const peer of peers) await inTime(seconds.warmUp, 16, peer.one)
  for (let round = 0; round < rounds; round++)
    for (const { peer, alone, many } of measured) {
      await addTo(alone, peer, seconds.alone, 1)
      await addTo(many, peer, seconds.many, 32)
    }
  return measured.map(({ peer, alone, many }) => ({
    case: peer.name,
    figures: {
      'units/s, 32 at once': many.done / many.seconds,
      'CPU ms of a unit': many.cpuMs / many.done,
      'to wait p50 ms': percentile(alone.waits, 0.5),
      'resumed to done p50 ms': percentile(alone.ends, 0.5),
      'to wait p99 ms': percentile(alone.waits, 0.99),
      'resumed to done p99 ms': percentile(alone.ends, 0.99),
      'units one by one': alone.done,
    },
  }))
}

const nothing = (): Figures => ({ done: 0, seconds: 0, cpuMs: 0, waits: [], ends: [] })

async function addTo(figures: Figures, peer: UnitPeer, time: number, concurrency: number): Promise<void> {
  peer.waits.length = peer.ends.length = 0
  figures.cpuMs += await cpuDuring(peer, async () => {
    const { done, seconds: passed } = await inTime(time, concurrency, peer.one)
    figures.done += done
    figures.seconds += passed
  })
  figures.waits.push(...peer.waits)
  figures.ends.push(...peer.ends)
}

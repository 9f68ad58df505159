/** Runs the measurements named as arguments, or all of `parts`. Prints tables, writes nothing. */
import { cpus } from 'node:os'
import { measureBridge } from './bridge.ts'
import { measureFanout } from './fanout.ts'
import { measureGate } from './gate.ts'
import { measureGenerations } from './generations.ts'
import { measureGuards } from './guards.ts'
import { measureQuery } from './query.ts'
import { measureScale } from './scale.ts'
import { measureUpstreams } from './upstreams.ts'

const parts = {
  bridge: measureBridge,
  upstreams: measureUpstreams,
  generations: measureGenerations,
  gate: measureGate,
  query: measureQuery,
  guards: measureGuards,
  fanout: measureFanout,
  scale: measureScale,
}
const named = process.argv.slice(2)
const unknown = named.filter((name) => !(name in parts))
if (unknown.length > 0) {
  console.error(`Unknown: ${unknown.join(', ')}. Known are ${Object.keys(parts).join(', ')}.`)
  process.exit(1)
}
console.log(
  `Node ${process.version}, ${cpus().length} cores. Ratios are against a peer in the same run; times are of this machine.`,
)
for (const [name, measure] of Object.entries(parts))
  if (named.length === 0 || named.includes(name)) await measure()
process.exit(0)

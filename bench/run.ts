/** Runs the measurements named as arguments, or all of `parts`. Prints tables, or JSON with `--json`; writes nothing. */
import { cpus } from 'node:os'
import { benchArguments } from './arguments.ts'
import { parts } from './parts.ts'
import { printJson, reportJson } from './report.ts'

async function run(): Promise<void> {
  const { names, json, runs } = benchArguments(process.argv.slice(2), Object.keys(parts))
  if (json) reportJson()
  else
    console.log(
      `Node ${process.version}, ${cpus().length} cores. Compare ratios to the limit or a peer of the same run; times are of this machine.`,
    )
  for (const name of names) await parts[name]!({ runs })
  if (json) printJson()
}

run().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  },
)

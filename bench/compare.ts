/**
 * Measures two commits in turns (A B A B …) with the same clients, and prints the medians and their ratio. Each commit is
 * checked out into a temporary worktree and built; only measurements of the built server can be compared.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { compareArguments } from './arguments.ts'
import { compared, type Side } from './comparison.ts'
import { parts } from './parts.ts'
import { tableOf, type Run } from './report.ts'

const root = resolve(import.meta.dirname, '..')
const sides: Side[] = ['A', 'B']

function main(): void {
  const { commits, names, rounds } = compareArguments(process.argv.slice(2), Object.keys(parts))
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-compare-'))
  const runs: Record<Side, Run[]> = { A: [], B: [] }
  try {
    const entries = sides.map((side, i) => built(join(folder, side), commits[i]!))
    for (let round = 1; round <= rounds; round++)
      for (const [i, side] of sides.entries()) {
        console.error(`round ${round} of ${rounds}, ${side}: ${commits[i]}`)
        runs[side].push(measured(entries[i]!, names))
      }
  } finally {
    for (const side of sides) git('worktree', 'remove', '--force', join(folder, side))
    rmSync(folder, { recursive: true, force: true })
  }
  console.log(`A: ${commits[0]}, B: ${commits[1]}; medians of ${rounds} rounds in turns`)
  for (const { part, rows } of compared(runs)) console.log(`\n${part}\n${tableOf(rows)}`)
}

/** The main.js of a commit. */
function built(folder: string, commit: string): string {
  git('worktree', 'add', '--detach', '--force', folder, commit)
  const lock = 'package-lock.json'
  const isSame = readFileSync(join(folder, lock), 'utf8') === readFileSync(join(root, lock), 'utf8')
  if (isSame && existsSync(join(root, 'node_modules')))
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  else execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: folder, stdio: ['ignore', 2, 2] })
  execFileSync(process.execPath, ['tools/build-when-stale.mjs', '--force'], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
  })
  return join(folder, 'dist/main.js')
}

function measured(entry: string, names: string[]): Run {
  const tsx = join(root, 'node_modules/tsx/dist/cli.mjs')
  const { status, stdout } = spawnSync(process.execPath, [tsx, 'bench/run.ts', ...names, '--json'], {
    cwd: root,
    env: { ...process.env, BENCH_SERVER: entry },
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (status !== 0) throw new Error(`The measurement failed with exit code ${status}.`)
  return JSON.parse(stdout) as Run
}

function git(...words: string[]): void {
  execFileSync('git', words, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
}

try {
  main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

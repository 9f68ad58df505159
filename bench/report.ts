/** What a run has measured: printed as tables, or as JSON for programs. */
import { cpus } from 'node:os'
import { rounded } from './statistics.ts'

/** One measured case, such as "postgres, 32 at once", and its figures. */
export interface Row {
  case: string
  figures: Record<string, number>
}

/** A row with the name of its measurement: what `--json` prints. */
export interface Measured extends Row {
  part: string
}

/** The whole output of `--json`. */
export interface Run {
  node: string
  cores: number
  measured: Measured[]
}

const measured: Measured[] = []
let asJson = false

/** From now on tables go to stderr: stdout has the JSON of `printJson` only. */
export function reportJson(): void {
  asJson = true
}

/** Keeps the rows of `part` and prints them as a table under `title`. Rows may have different figures. */
export function report(part: string, title: string, rows: Row[]): void {
  const shown = rows.map((row) => ({
    case: row.case,
    figures: Object.fromEntries(Object.entries(row.figures).map(([name, value]) => [name, rounded(value)])),
  }))
  measured.push(...shown.map((row) => ({ part, ...row })))
  const print = asJson ? console.error : console.log
  print(`\n${title}`)
  print(tableOf(shown))
}

/** Prints everything that was reported, as one line of JSON on stdout. */
export function printJson(): void {
  const run: Run = { node: process.version, cores: cpus().length, measured }
  process.stdout.write(`${JSON.stringify(run)}\n`)
}

/** A text table: one line for each case, one column for each figure. */
export function tableOf(rows: Row[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row.figures)))]
  const cells = [
    ['', ...names],
    ...rows.map((row) => [row.case, ...names.map((name) => String(row.figures[name] ?? ''))]),
  ]
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((line) => line[column]!.length)))
  return cells
    .map((line) =>
      line.map((cell, i) => (i ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!))).join('  '),
    )
    .join('\n')
}

/** Medians of several runs of two sides, and the ratio between them. */
import type { Measured, Row, Run } from './report.ts'
import { median, rounded } from './statistics.ts'

export type Side = 'A' | 'B'

/** One table for each measurement: a row for each case and figure with the medians of both sides and B/A. */
export interface Comparison {
  part: string
  rows: Row[]
}

/** What only one side has measured has no row. */
export function compared(runs: Record<Side, Run[]>): Comparison[] {
  const [a, b] = [valuesOf(runs.A), valuesOf(runs.B)]
  const byPart = new Map<string, Row[]>()
  for (const [name, { part, label, values }] of a) {
    const other = b.get(name)
    if (!other) continue
    const [A, B] = [median(values), median(other.values)]
    const rows = byPart.get(part) ?? []
    byPart.set(part, rows)
    rows.push({ case: label, figures: { A: rounded(A), B: rounded(B), 'B/A': rounded(B / A) } })
  }
  return [...byPart].map(([part, rows]) => ({ part, rows }))
}

interface Figure {
  part: string
  label: string
  values: number[]
}

function valuesOf(runs: Run[]): Map<string, Figure> {
  const found = new Map<string, Figure>()
  for (const row of runs.flatMap((run): Measured[] => run.measured))
    for (const [figure, value] of Object.entries(row.figures)) {
      const label = `${row.case}: ${figure}`
      const name = `${row.part} ${label}`
      const entry = found.get(name) ?? { part: row.part, label, values: [] }
      entry.values.push(value)
      found.set(name, entry)
    }
  return found
}

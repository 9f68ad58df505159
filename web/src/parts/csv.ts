/** Rows as a file of comma-separated values by RFC 4180, safe to open in a spreadsheet. Pure. */
import { writeJson } from '../../../src/core/exact-json.ts'

/** With these a spreadsheet takes a cell for a formula, the wide ones where Japanese or Chinese is written; quotes and spaces before them fall away. */
const formula = /^(?:[\t\r\n]|["\s]*[=+\-@＝＋－＠])/
/** The same behind what begins another cell where something else separates them, as semicolons do in German: our quotes count for nothing there. */
const laterFormula = /([;|\t\r\n\v\f\u0085\u2028\u2029])(?=["\s]*[=+\-@＝＋－＠])/g

/** The names and the rows as text: UTF-8 with a byte order mark, lines that end with CR LF. */
export function csvOf(names: readonly string[], rows: readonly (readonly unknown[])[]): string {
  return `\uFEFF${[names, ...rows].map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('')}`
}

function cellOf(value: unknown): string {
  const text =
    value === null || value === undefined ? '' : typeof value === 'object' ? writeJson(value) : String(value)
  const safe = `${formula.test(text) ? "'" : ''}${text.replace(laterFormula, "$1'")}`
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

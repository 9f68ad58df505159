/** Rows as a file of comma-separated values by RFC 4180, safe to open in a spreadsheet. Pure. */

/** With these a spreadsheet takes a cell for a formula. */
const formula = /^[=+\-@\t\r\n]/
/** The same behind what begins another cell where semicolons separate them, as in German: our quotes count for nothing there. */
const laterFormula = /([;\t\r\n])(?=[=+\-@])/g

/** The names and the rows as text: UTF-8 with a byte order mark, lines that end with CR LF. */
export function csvOf(names: readonly string[], rows: readonly (readonly unknown[])[]): string {
  return `\uFEFF${[names, ...rows].map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('')}`
}

function cellOf(value: unknown): string {
  const text =
    value === null || value === undefined
      ? ''
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value)
  const safe = `${formula.test(text) ? "'" : ''}${text.replace(laterFormula, "$1'")}`
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** What is written to the terminal. Text of models, tools and people never reaches it as control sequences. */
import { writeJson } from '../client/index.ts'

const isColoured = (stream: NodeJS.WriteStream) => stream.isTTY === true && !process.env['NO_COLOR']

const paint = (code: number) => (text: string) =>
  isColoured(process.stderr) ? `\u001b[${code}m${text}\u001b[0m` : text
export const dim = paint(2)
export const bold = paint(1)
export const red = paint(31)
export const yellow = paint(33)

/**
 * Everything that moves the cursor, changes the terminal or reorders what is read: controls but for line feed and tab, the
 * C1 controls, marks of direction, and letters without a width.
 */
const unsafe =
  // oxlint-disable-next-line no-control-regex -- they are what it is about
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb]/g

const escaped = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Text of others, with what is unsafe shown as an escape. */
export const visible = (text: string): string => text.replace(unsafe, escaped)

/** The same on one line. */
export const oneLine = (text: string): string => visible(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t')

/** A value as JSON for people. */
export const json = (value: unknown): string => visible(writeJson(value, 2) ?? 'null')

/** Results: what a pipe gets. */
export function out(text: string): void {
  process.stdout.write(text)
}

/** A result for programs, on one line. */
export function outJson(value: unknown): void {
  out(`${writeJson(value)}\n`)
}

/** Everything that is said to people about the work. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Rows of cells in columns. */
export function table(rows: readonly (readonly string[])[]): string {
  const clean = rows.map((row) => row.map(oneLine))
  const widths = (clean[0] ?? []).map((_, i) => Math.max(...clean.map((row) => row[i]!.length)))
  return clean
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i]!))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}

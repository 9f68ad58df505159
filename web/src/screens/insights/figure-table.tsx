/** A table of figures within a box of the statistics. */
import type { ReactNode } from 'react'

interface Props {
  /** What it lists, for screen readers. */
  label: string
  /** The names of the columns; one of numbers stands at the right. */
  columns: readonly (string | { number: string })[]
  /** The rows: each is a `<tr>`. */
  children: ReactNode
}

export function FigureTable({ label, columns, children }: Props) {
  return (
    <div className="insights-tools" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((one) =>
              typeof one === 'string' ? (
                <th key={one} scope="col">
                  {one}
                </th>
              ) : (
                <th key={one.number} scope="col" className="number">
                  {one.number}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

/** A table that scrolls by itself where it is wider than the page. */
import type { ReactNode } from 'react'
import { t } from '../texts/texts.tsx'

export interface TableProps {
  /** What it lists, for screen readers. */
  label: string
  /** The names of the columns; an empty one has only buttons. */
  columns: readonly string[]
}

/** `children` are the rows: each is a `<tr>`. */
export function Table({ label, columns, children }: TableProps & { children: ReactNode }) {
  return (
    <section className="table-scroll" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((name, at) => (
              <th key={name || `actions ${at}`} scope="col">
                {name || <span className="sr-only">{t('Actions')}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  )
}

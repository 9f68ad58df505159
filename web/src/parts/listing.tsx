/** A list that is read page by page, as a table, with its states. */
import type { ReactNode } from 'react'
import type { Pages } from '../api/pages.ts'
import { Empty, Failure, Skeleton } from './states.tsx'

interface Props<Node> {
  pages: Pages<Node>
  /** What the table lists, for screen readers. */
  label: string
  /** The names of the columns; an empty one has only buttons. */
  columns: readonly string[]
  /** The rows; each is a `<tr>` with its key. */
  renderRow(node: Node): ReactNode
  /** What stands there when there is nothing. */
  empty: { title: string; text: string }
}

export function Listing<Node>({ pages, label, columns, renderRow, empty }: Props<Node>) {
  if (pages.error !== null && pages.nodes.length === 0)
    return <Failure error={pages.error} retry={pages.reload} />
  if (pages.isLoading) return <Skeleton lines={8} />
  if (pages.nodes.length === 0) return <Empty title={empty.title}>{empty.text}</Empty>
  return (
    <>
      {pages.error !== null && <Failure error={pages.error} retry={pages.reload} />}
      <section className="table-scroll" aria-label={label} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {columns.map((name, at) => (
                <th key={name || `actions ${at}`} scope="col">
                  {name || <span className="sr-only">Actions</span>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>{pages.nodes.map(renderRow)}</tbody>
        </table>
      </section>
      {pages.hasMore && (
        <button type="button" onClick={pages.showMore}>
          Show more
        </button>
      )}
    </>
  )
}

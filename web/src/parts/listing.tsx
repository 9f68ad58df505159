/** A list that is read page by page, as a table, with its states. */
import type { ReactNode } from 'react'
import type { Pages } from '../api/pages.ts'
import { Empty, Failure, Skeleton } from './states.tsx'
import { Table, type TableProps } from './table.tsx'
import { t } from '../texts/texts.tsx'

interface Props<Node> extends TableProps {
  pages: Pages<Node>
  /** The rows; each is a `<tr>` with its key. */
  renderRow(node: Node): ReactNode
  /** What stands there when there is nothing. */
  empty: { title: string; text: string }
}

export function Listing<Node>({ pages, renderRow, empty, ...table }: Props<Node>) {
  if (pages.error !== null && pages.nodes.length === 0)
    return <Failure error={pages.error} retry={pages.reload} />
  if (pages.isLoading) return <Skeleton lines={8} />
  if (pages.nodes.length === 0) return <Empty title={empty.title}>{empty.text}</Empty>
  return (
    <>
      {pages.error !== null && <Failure error={pages.error} retry={pages.reload} />}
      <Table {...table}>{pages.nodes.map(renderRow)}</Table>
      {pages.hasMore && (
        <button type="button" onClick={pages.showMore}>
          {t('Show more')}
        </button>
      )}
    </>
  )
}

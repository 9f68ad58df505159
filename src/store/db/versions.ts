/** Pages of the versions of a tool or an agent, each with the version before it. */
import { eq } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { badCursor, type Page, type PlaceInList } from '../../core/page.ts'
import type { Database } from './database.ts'
import { maxPageBytes } from './keyset.ts'
import { selectRows, selectRowsWithin } from './rows.ts'
import { sql, type SQL } from './sql.ts'

type Versioned = PgTable & { version: PgColumn; projectId: PgColumn }

/**
 * At most `page.limit` versions of one owner, newest first, or oldest first when the page is inverted; `before` is the
 * next older version that is stored, null for the first. The id of a place is the number of a version. RESPONSE_TOO_LARGE
 * when the versions have more than `maxPageBytes`. Two statements. Needs a primary key that begins with owner and
 * version.
 */
export async function versionPage<Table extends Versioned>(
  db: Database,
  table: Table,
  owner: { column: PgColumn; id: string },
  page: Page,
): Promise<{ row: Table['$inferSelect']; before: Table['$inferSelect'] | null }[]> {
  type Row = Table['$inferSelect'] & { version: number }
  const own = eq(owner.column, owner.id)
  const beside = (place: PlaceInList | undefined, operator: SQL) =>
    place ? sql`and version ${operator} ${versionAt(place)}::int` : sql``
  const rows = (await selectRowsWithin(
    db,
    table,
    sql`where ${own} ${beside(page.after, sql`<`)} ${beside(page.before, sql`>`)}
      order by version ${page.inverted ? sql`asc` : sql`desc`} limit ${page.limit}`,
    maxPageBytes,
  )) as Row[]
  if (rows.length === 0) return []
  const oldest = Math.min(...rows.map(({ version }) => version))
  const tail = sql`where ${own} and version < ${oldest}::int order by version desc limit 1`
  const all = [...rows, ...((await selectRows(db, table, tail)) as Row[])]
  const newestFirst = all.toSorted((a, b) => b.version - a.version)
  return rows.map((row) => ({ row, before: newestFirst[newestFirst.indexOf(row) + 1] ?? null }))
}

function versionAt({ id }: PlaceInList): number {
  if (!/^\d{1,9}$/.test(id)) throw badCursor()
  return Number(id)
}

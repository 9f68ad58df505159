/** One page of a project's list, ordered by (created_at, id), newest first: the same few lines for every table. */
import { and, eq, sql, type SQL } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Page } from '../../core/page.ts'
import type { Database } from './database.ts'
import { selectRowsWithin } from './rows.ts'

type Listable = PgTable & { id: PgColumn; projectId: PgColumn; createdAt: PgColumn }

/** What the rows of one page may have, in bytes: no answer has more. */
export const maxPageBytes = 8 * 1024 * 1024
/** What everything of some runs may have together, in bytes, when people look at it. */
export const maxWholeBytes = 64 * 1024 * 1024

/**
 * At most `page.limit` rows after and before the given places. Served by an index on (project_id, created_at, id);
 * the tenant stands first in it. RESPONSE_TOO_LARGE when they have more than `maxPageBytes`. `inverted` reads from the far end, for `last`.
 */
export async function listPage<Table extends Listable>(
  db: Database,
  table: Table,
  projectId: string,
  page: Page,
  where?: SQL,
): Promise<Table['$inferSelect'][]> {
  const place = sql`(${table.createdAt}, ${table.id})`
  const value = (at: { at: number; id: string }) =>
    sql`(${new Date(at.at).toISOString()}::timestamptz, ${at.id})`
  const conditions = [
    eq(table.projectId, projectId),
    page.after && sql`${place} < ${value(page.after)}`,
    page.before && sql`${place} > ${value(page.before)}`,
    where,
  ]
  const wanted = and(...conditions.filter((c): c is SQL => c !== undefined))!
  const order = page.inverted ? sql`asc` : sql`desc`
  return selectRowsWithin(
    db,
    table,
    sql`where ${wanted} order by created_at ${order}, id ${order} limit ${page.limit}`,
    maxPageBytes,
  )
}

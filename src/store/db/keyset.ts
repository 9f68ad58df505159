/** Pages of a project's list for every table, ordered by (created_at, id), newest first. */
import { z } from 'zod'
import { and, eq } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Page } from '../../core/page.ts'
import type { Database } from './database.ts'
import { selectRowsWithin } from './rows.ts'
import { sql, type SQL } from './sql.ts'

/** Only rows that were created from `createdAfter` on and before `createdBefore`. */
export interface CreatedRange {
  createdAfter?: Date | null | undefined
  createdBefore?: Date | null | undefined
}

/** The fields of a range of time in the filter of a list. */
export const createdFields = (entries: string) => ({
  createdAfter: z.date().nullish().describe(`Only ${entries} that were created at this time or later.`),
  createdBefore: z.date().nullish().describe(`Only ${entries} that were created before this time.`),
})

/** The condition of a range, which the index of the list serves; undefined without one. */
export function createdWithin(
  { createdAt }: { createdAt: PgColumn },
  { createdAfter, createdBefore }: CreatedRange,
): SQL | undefined {
  return timeWithin(createdAt, createdAfter, createdBefore)
}

/** The condition that a time is `from` or later and before `to`; undefined without both. */
export function timeWithin(
  column: PgColumn,
  from: Date | null | undefined,
  to: Date | null | undefined,
): SQL | undefined {
  // The databases know no year 0; no row is older than the server.
  const at = (date: Date) => sql`${new Date(Math.max(0, date.getTime())).toISOString()}::timestamptz`
  return and(from ? sql`${column} >= ${at(from)}` : undefined, to ? sql`${column} < ${at(to)}` : undefined)
}

/**
 * The condition that a column has one of these values, which must be constants of the program: they are written as
 * literals, so that the planner can use partial indexes. False for an empty list.
 */
export function isOneOf(column: PgColumn, values: readonly string[]): SQL {
  if (values.length === 0) return sql`false`
  const list = [...new Set(values)].map((value) => `'${value.replaceAll("'", "''")}'`)
  return sql`${column} in (${sql.raw(list.join(', '))})`
}

/** The condition that a text is part of a column, letters of any case. Without an index: for short lists only. */
export function containsText(column: PgColumn, part: string): SQL {
  return sql`strpos(lower(${column}), lower(${part}::text)) > 0`
}

type Listable = PgTable & { id: PgColumn; projectId: PgColumn; createdAt: PgColumn }

/** The most bytes in the rows of one page: no response has more. */
export const maxPageBytes = 8 * 1024 * 1024
/** The most bytes of all rows of some generations together, when they are read for people. */
export const maxWholeBytes = 64 * 1024 * 1024

/**
 * At most `page.limit` rows after and before the given positions. `inverted` reads from the other end, for `last`.
 * Throws RESPONSE_TOO_LARGE when the rows have more than `maxPageBytes`. Needs an index on (project_id, created_at,
 * id).
 */
export async function listPage<Table extends Listable>(
  db: Database,
  table: Table,
  projectId: string,
  page: Page,
  where?: SQL,
): Promise<Table['$inferSelect'][]> {
  const position = sql`(${table.createdAt}, ${table.id})`
  const value = (at: { at: number; id: string }) =>
    sql`(${new Date(at.at).toISOString()}::timestamptz, ${at.id})`
  const conditions = [
    eq(table.projectId, projectId),
    page.after && sql`${position} < ${value(page.after)}`,
    page.before && sql`${position} > ${value(page.before)}`,
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

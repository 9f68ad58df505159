/** Lists: pages ordered by (created_at, id), newest first, pages of versions, and searches by words. */
import { z } from 'zod'
import { and, eq } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { type Page, badCursor, type PlaceInList } from '../../core/page.ts'
import type { Database } from './database.ts'
import { selectRowsWithin, selectRows } from './rows.ts'
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

/** The words as the text that `vectorOf` reads: they have no spaces. */
export function textOfWords(words: Iterable<string>): string {
  return [...new Set(words)].join(' ')
}

/** The value of the column: the words of a text of `textOfWords`, and those of other lists of words. */
export function vectorOf(text: SQL, ...more: SQL[]): SQL {
  return sql`array_to_tsvector(${sql.join([sql`string_to_array(${text}, ' ')`, ...more], sql` || `)})`
}

/**
 * The list of the words of a name that only the database has. What is not ASCII is lower case as far as the locale of the
 * database knows it.
 */
export function wordsOfName(name: SQL): SQL {
  return sql`array_remove(regexp_split_to_array(
    regexp_replace(lower(${name}), '([\\u3040-\\u30ff\\u3400-\\u9fff\\uf900-\\ufaff])', ' \\1 ', 'g'),
    '[\\u0001-\\u002f\\u003a-\\u0040\\u005b-\\u0060\\u007b-\\u00a9]+'), '')`
}

/** The words of a name of ASCII letters, digits, hyphens and underscores, as an index can have them. */
export function vectorOfIdentifier(name: SQL): SQL {
  return sql`array_to_tsvector(array_remove(string_to_array(translate(lower(${name}), '-', '_'), '_'), ''))`
}

/** The condition that all words are in the vector, the last one as the beginning of a word. At least one word. */
export function hasWords(vector: PgColumn | SQL, words: readonly string[]): SQL {
  const last = words.length - 1
  return sql`${vector} @@ ${words.map((word, at) => `'${word}'${at === last ? ':*' : ''}`).join(' & ')}::tsquery`
}

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

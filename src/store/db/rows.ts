/** Reads whole rows of a table; the list of columns is derived from the table. */
import { getTableColumns, getTableName } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { AppError } from '../../core/errors.ts'
import { query, type Database } from './database.ts'
import { sql, type SQL } from './sql.ts'

interface Shape {
  /** Every column, selected under its name in TypeScript. */
  columns: SQL
  from: SQL
  /** The bytes of all columns of a row that can be large. */
  weight: SQL
  /** Names of timestamp columns, which are read as milliseconds. */
  moments: string[]
}

const nothing = sql``
const shapes = new WeakMap<PgTable, Shape>()

/**
 * The rows of the table that the tail (`where … order by … limit …`) selects, as Drizzle would return them. The tail
 * uses the column names of the database; `also` selects more (`, now() as …`).
 */
export async function selectRows<Table extends PgTable, More extends object = object>(
  db: Database,
  table: Table,
  tail: SQL,
  also: SQL = nothing,
): Promise<(Table['$inferSelect'] & More)[]> {
  const shape = shapeOf(table)
  return readRows(db, table, sql`select ${shape.columns} ${also} ${shape.from} ${tail}`)
}

/**
 * `selectRows` with a limit of about `maxBytes` for all rows together. Throws RESPONSE_TOO_LARGE when the selected rows
 * have more. The database measures the rows and does not send those beyond the limit.
 */
export async function selectRowsWithin<Table extends PgTable>(
  db: Database,
  table: Table,
  tail: SQL,
  maxBytes: number,
): Promise<Table['$inferSelect'][]> {
  const { columns, from, weight } = shapeOf(table)
  const rows = await readRows<Table, { wanted_rows: number }>(
    db,
    table,
    sql`select ${columns}, wanted_rows from (
        select *, sum(row_weight) over (rows unbounded preceding) - row_weight as weight_before,
          (count(*) over ())::int as wanted_rows
        from (select *, ${weight} as row_weight ${from} ${tail}) as weighed
      ) as within where weight_before < ${maxBytes}`,
  )
  if (rows.length > 0 && rows.length < rows[0]!.wanted_rows)
    throw new AppError(
      'RESPONSE_TOO_LARGE',
      `These ${rows[0]!.wanted_rows} entries have more than ${maxBytes} bytes. Ask for smaller pages with first.`,
    )
  return rows
}

/**
 * Runs a statement of these parts and returns the rows of its relation `g`, which has all columns of the table; `also`
 * selects more.
 */
export function writtenRows<Table extends PgTable, More extends object = object>(
  db: Database,
  table: Table,
  parts: readonly SQL[],
  also: SQL = nothing,
): Promise<(Table['$inferSelect'] & More)[]> {
  const { columns } = shapeOf(table)
  return readRows(db, table, sql`with ${sql.join([...parts], sql`, `)} select ${columns} ${also} from g`)
}

/**
 * The rows that the tail selects, in its order, as one JSON value inside a larger statement. Read it with `rowsOfJson`.
 */
export function rowsAsJson(table: PgTable, tail: SQL): SQL {
  const { columns, from } = shapeOf(table)
  return sql`(select coalesce(json_agg(x), '[]'::json) from (select ${columns} ${from} ${tail}) as x)`
}

/** The rows of a JSON value of `rowsAsJson`, as Drizzle would return them. */
export function rowsOfJson<Table extends PgTable>(
  table: Table,
  rows: readonly object[],
): Table['$inferSelect'][] {
  return withMoments(table, rows as Record<string, unknown>[]) as Table['$inferSelect'][]
}

async function readRows<Table extends PgTable, More>(
  db: Database,
  table: Table,
  statement: SQL,
): Promise<(Table['$inferSelect'] & More)[]> {
  const rows = await query<Record<string, unknown>>(db, statement)
  return withMoments(table, rows) as (Table['$inferSelect'] & More)[]
}

function withMoments(table: PgTable, rows: Record<string, unknown>[]): Record<string, unknown>[] {
  for (const row of rows)
    for (const name of shapeOf(table).moments)
      if (row[name] !== null) row[name] = new Date(row[name] as number)
  return rows
}

function shapeOf(table: PgTable): Shape {
  const known = shapes.get(table)
  if (known) return known
  const columns = Object.entries(getTableColumns(table)).filter(
    ([, column]) => column.getSQLType() !== 'tsvector',
  )
  const list = columns.map(([name, column]) => `${valueOf(column)} as "${name}"`).join(', ')
  const made = {
    columns: sql.raw(list),
    from: sql.raw(`from "${getTableName(table)}"`),
    weight: sql.raw(['0', ...columns.flatMap(([, column]) => weightOf(column))].join(' + ')),
    moments: columns.filter(([, column]) => column.columnType === 'PgTimestamp').map(([name]) => name),
  }
  shapes.set(table, made)
  return made
}

/** A small value counts with its stored size; a large one may be compressed, so its text is measured. */
function weightOf(column: PgColumn): string[] {
  if (column.getSQLType() !== 'jsonb' && column.columnType !== 'PgText') return []
  const own = `"${column.name}"`
  return [
    `coalesce(case when pg_column_size(${own}) > 2000
      then octet_length(${own}::text)
      else pg_column_size(${own}) end, 0)`,
  ]
}

/** The drivers read timestamps and bigints differently; both read a float8 as a number, exact up to 2^53. */
function valueOf(column: { name: string; columnType: string }): string {
  const own = `"${column.name}"`
  if (column.columnType === 'PgTimestamp') return `(extract(epoch from ${own}) * 1000)::float8`
  return column.columnType.startsWith('PgBigInt') ? `${own}::float8` : own
}

/** Whole rows of a table, read and written; the list of columns is derived from the table. */
import { getTableColumns, getTableName } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { AppError } from '../../core/errors.ts'
import { query, type Database, jsonb, jsonbOfText } from './database.ts'
import { sql, SQL } from './sql.ts'
import { writeJson } from '../../core/json.ts'

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

/**
 * Columns by their names in TypeScript; a value is an SQL expression, or plain JavaScript that is sent as a parameter.
 */
export type Values<Table extends PgTable> = { [Name in keyof Table['$inferInsert']]?: unknown }

/**
 * `insert into <table> (<columns>) select <values> from <from>`. Every row of `from` becomes a row of the table;
 * without `from` it is one row.
 */
export function insertSelect<Table extends PgTable>(table: Table, values: Values<Table>, from?: SQL): SQL {
  const entries = entriesOf(table, values)
  const names = sql.raw(entries.map(({ name }) => name).join(', '))
  const selected = sql.join(
    entries.map(({ value }) => value),
    sql`, `,
  )
  return sql`insert into ${sql.raw(getTableName(table))} (${names})
    select ${selected} ${from ? sql`from ${from}` : sql``}`
}

/** The assignments of an update: `"status" = …, "wake_at" = …`. */
export function assignments<Table extends PgTable>(table: Table, values: Values<Table>): SQL {
  return sql.join(
    entriesOf(table, values).map(({ name, value }) => sql`${sql.raw(name)} = ${value}`),
    sql`, `,
  )
}

/**
 * The rows as a relation `x` whose columns are those of the table: `jsonb_to_recordset(…) as x("id" text, …)`. All rows
 * have the same keys. `more` adds columns that the table does not have, by name with their SQL type.
 */
export function recordset<Table extends PgTable>(
  table: Table,
  rows: readonly Values<Table>[],
  more: Record<string, string> = {},
): SQL {
  const texts = rows.map((row) => rowText(table, row))
  return recordsetOfTexts(table, Object.keys(rows[0] ?? {}), texts, more)
}

/** One row as the text of a JSON object, for `recordsetOfTexts`. */
export function rowText<Table extends PgTable>(table: Table, row: Values<Table>): string {
  const columns = getTableColumns(table)
  const named = Object.entries(row).map(([key, value]) => [columns[key]?.name ?? key, value ?? null])
  return writeJson(Object.fromEntries(named))
}

/** `recordset` of rows whose texts were made before. `keys` are those of each row. */
export function recordsetOfTexts<Table extends PgTable>(
  table: Table,
  keys: readonly string[],
  texts: readonly string[],
  more: Record<string, string> = {},
): SQL {
  const columns = getTableColumns(table)
  const typed = keys.map((key) => `"${columns[key]?.name ?? key}" ${columns[key]?.getSQLType() ?? more[key]}`)
  return rowsOf(jsonbOfText(`[${texts.join(',')}]`), texts.length, `x(${typed.join(', ')})`)
}

/** Numbers of rows that a statement is planned for; one with more is planned for the 100 that PostgreSQL expects. */
const planned = [1, 4, 16, 64]

/**
 * The `count` rows of a JSON array as the relation `named`, such as `x(id text, epoch int)`. PostgreSQL expects 100 rows of
 * any array, and would read a table of some thousand rows whole rather than look up a few: the limit says how many come.
 */
export function rowsOf(array: SQL, count: number, named: string): SQL {
  const most = planned.find((size) => size >= count)
  const limit = sql.raw(most === undefined ? '' : `limit ${most}`)
  const name = sql.raw(named.slice(0, named.indexOf('(')))
  return sql`(select * from jsonb_to_recordset(${array}) as ${sql.raw(named)} ${limit}) as ${name}`
}

/** The columns of such a relation as values of an insert: `{ id: x."id", … }`. */
export function fromRecordset<Table extends PgTable, Name extends keyof Table['$inferInsert'] & string>(
  table: Table,
  names: readonly Name[],
): Record<Name, SQL> {
  const columns = getTableColumns(table)
  return Object.fromEntries(names.map((name) => [name, sql.raw(`x."${columns[name]!.name}"`)])) as Record<
    Name,
    SQL
  >
}

/** What a statement says of a column, made once for each table. */
interface ColumnTexts {
  /** The name in quotation marks. */
  name: string
  /** `::type`, behind a parameter. */
  cast: SQL
  isJson: boolean
}

const known = new WeakMap<PgTable, Record<string, ColumnTexts>>()

function textsOf(table: PgTable): Record<string, ColumnTexts> {
  const made = known.get(table)
  if (made) return made
  const texts = Object.fromEntries(
    Object.entries(getTableColumns(table)).map(([key, column]) => [
      key,
      {
        name: `"${column.name}"`,
        cast: sql.raw(`::${column.getSQLType()}`),
        isJson: column.getSQLType() === 'jsonb',
      },
    ]),
  )
  known.set(table, texts)
  return texts
}

/** The columns that have a value, with their values as expressions. */
function entriesOf<Table extends PgTable>(
  table: Table,
  values: Values<Table>,
): { name: string; value: SQL }[] {
  const texts = textsOf(table)
  const entries: { name: string; value: SQL }[] = []
  for (const key in values) {
    const value = values[key]
    if (value === undefined) continue
    const column = texts[key]!
    entries.push({ name: column.name, value: value instanceof SQL ? value : parameter(column, value) })
  }
  return entries
}

function parameter({ isJson, cast }: ColumnTexts, value: unknown): SQL {
  if (isJson) return value === null ? sql`null::jsonb` : jsonb(value)
  return sql`${value}${cast}`
}

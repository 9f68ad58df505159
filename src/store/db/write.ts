/** Parts of statements that write; their lists of columns are derived from the table. */
import { getTableColumns, getTableName } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { writeJson } from '../../core/json.ts'
import { jsonb, jsonbOfText } from './database.ts'
import { sql, SQL } from './sql.ts'

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

/** Parts of statements that write; their lists of columns are derived from the table. */
import { getTableColumns, getTableName, sql, SQL } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { jsonb, jsonbOfText } from './database.ts'

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
  const names = sql.raw(entries.map(({ column }) => `"${column.name}"`).join(', '))
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
    entriesOf(table, values).map(({ column, value }) => sql`${sql.raw(`"${column.name}"`)} = ${value}`),
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
  return JSON.stringify(Object.fromEntries(named))
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
  return sql`jsonb_to_recordset(${jsonbOfText(`[${texts.join(',')}]`)}) as x(${sql.raw(typed.join(', '))})`
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

function entriesOf<Table extends PgTable>(table: Table, values: Values<Table>) {
  const columns = getTableColumns(table)
  return Object.entries(values).flatMap(([key, value]) => {
    if (value === undefined) return []
    const column = columns[key]!
    return [{ column, value: value instanceof SQL ? value : parameter(column, value) }]
  })
}

function parameter(column: { columnType: string; getSQLType(): string }, value: unknown): SQL {
  if (column.columnType === 'PgJsonb') return value === null ? sql`null::jsonb` : jsonb(value)
  return sql`${value}::${sql.raw(column.getSQLType())}`
}

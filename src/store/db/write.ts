/** Parts of statements that write; their lists of columns are derived from the table. */
import { getTableColumns, getTableName, sql, SQL } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { jsonb } from './database.ts'

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
  const columns = getTableColumns(table)
  const keys = Object.keys(rows[0] ?? {})
  const nameOf = (key: string) => columns[key]?.name ?? key
  const typed = keys.map((key) => `"${nameOf(key)}" ${columns[key]?.getSQLType() ?? more[key]}`)
  const named = rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([key, value]) => [nameOf(key), value ?? null])),
  )
  return sql`jsonb_to_recordset(${jsonb(named)}) as x(${sql.raw(typed.join(', '))})`
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

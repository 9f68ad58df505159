/**
 * A project can be moved to a database of its own: every row says which project it belongs to, by a column, or by the row
 * that it hangs on.
 */
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { is } from 'drizzle-orm'
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core'
import { expect, test } from 'vitest'

const folder = resolve(import.meta.dirname, '../src/store/db/tables')

/** Tables without the column: the column that leads to the project, or why their rows belong to none. */
const others: Record<string, { by: string } | { none: string }> = {
  projects: { by: 'id' },
  key_uses: { by: 'key_id' },
  webhook_receipts: { by: 'webhook_id' },
  installation: { none: 'one row for the whole database' },
  rate_buckets: { none: 'counters of the last minute, which begin anew anywhere' },
}

const modules: object[] = await Promise.all(
  readdirSync(folder).map((name) => import(join(folder, name)) as Promise<object>),
)
const found = modules.flatMap((module) => Object.values(module)).filter((one) => is(one, PgTable))
const tables: ReturnType<typeof getTableConfig>[] = [...new Set(found)].map((table) =>
  getTableConfig(table as PgTable),
)

test('every table of a tenant has its project, which is never null', () => {
  expect(tables.length).toBeGreaterThan(40)
  const without = tables.filter(
    ({ name, columns }) =>
      !(name in others) && !columns.some((column) => column.name === 'project_id' && column.notNull),
  )
  expect(without.map(({ name }) => name)).toEqual([])
})

test('what leads to a project is a column, and no table is excused that need not be', () => {
  for (const [name, how] of Object.entries(others)) {
    const { columns } = tables.find((one) => one.name === name)!
    const names = columns.map((column) => column.name)
    expect(names).not.toContain('project_id')
    if ('by' in how) expect(names).toContain(how.by)
  }
})

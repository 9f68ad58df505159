/** Prepared statements of the embedded database: the same answers and errors as without them, whatever happens between. */
import { PGlite } from '@electric-sql/pglite'
import { drizzle } from 'drizzle-orm/pglite'
import { sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { atomically, query, sqlState, type Database } from '../../src/store/db/database.ts'
import { databaseOverPglite } from '../../src/store/db/pglite/connect.ts'
import { preparedStatements } from '../../src/store/db/pglite/statements.ts'
import { memoryDatabase } from '../support/databases.ts'
import { forFile } from '../support/for-file.ts'

const client = await forFile(PGlite.create({ loadDataDir: (await memoryDatabase()).dump }))
const db = databaseOverPglite(client, () => {})
/** The same database without prepared statements. */
const plain: Database = drizzle(client) as never
beforeEach(async () => {
  await client.exec(`drop table if exists t; create table t (id int primary key, data jsonb);
    insert into t values (1, '{"a":1}'), (2, null)`)
})

const all = sql.raw('select * from t order by id')
const one = (id: number) => sql`select id, data from t where id = ${id}::int`
const insert = (id: number, json: string) =>
  sql`insert into t values (${id}::int, ${json}::text::jsonb) returning id`
/** How often the statements whose text matches have been run by a plan. */
const runsOf = async (pattern: string) => {
  const { rows } = await client.query<{ runs: number[] }>(
    `select coalesce(array_agg((generic_plans + custom_plans)::int), '{}') as runs
      from pg_prepared_statements where statement like $1`,
    [pattern],
  )
  return rows[0]!.runs
}

test('a statement is prepared once and run by its name', async () => {
  for (let i = 0; i < 8; i++) await query(db, sql`select ${'prepared once'}::text as x`)
  await atomically(db, (tx) => query(tx, sql`select ${'prepared once'}::text as x`))
  expect(await runsOf('select $1::text as x')).toEqual([9])
})

test('rows have the values that PGlite gives for its own statements', async () => {
  const statement = sql`select 1::int2 as a, 2::int8 as b, 1.5::float8 as c, 1.10::numeric as d, true as e,
    '{"x":[1,null]}'::jsonb as f, '[1]'::json as g, null::text as h, array[1,2]::int[] as i,
    array['a','b "c"']::text[] as j, '\\x00ff'::bytea as k, timestamptz '2026-01-02 03:04:05.678+00' as l,
    date '2026-01-02' as m, 9007199254740993::int8 as n, 'é\u{1F600}' as o, interval '1 day' as p,
    ${12}::int as q, ${'text'}::text as r, ${null}::text as s, ${1.25}::float8 as t, ${true}::boolean as u`
  for (let i = 0; i < 7; i++) {
    const [rows] = await query(db, statement)
    expect(rows).toEqual((await query(plain, statement))[0])
  }
  const typed = await db.select({ a: sql<number>`1::int`, b: sql<Date>`now()::date` }).from(sql`t`)
  expect(typed).toEqual(
    await plain.select({ a: sql<number>`1::int`, b: sql<Date>`now()::date` }).from(sql`t`),
  )
  expect(await db.execute(insert(5, '{}'))).toMatchObject({ affectedRows: 1, rows: [{ id: 5 }] })
})

test('an error has everything that the error of a statement of PGlite has', async () => {
  const errorOn = async (on: Database) => {
    const error = await query(on, insert(7, 'not json')).catch((e: unknown) => e)
    const { code, message, severity, detail, query: text, params } = (error as { cause: any }).cause
    return { name: (error as Error).constructor.name, code, message, severity, detail, text, params }
  }
  const known = await errorOn(db)
  expect(known).toMatchObject({ name: 'DrizzleQueryError', code: '22P02', params: [7, 'not json'] })
  expect(known).toEqual(await errorOn(plain))
  // From its second time on the statement is known by its name.
  expect(await errorOn(db)).toEqual(known)
})

test('an error between statements leaves each of the others with its own answer', async () => {
  const mixed = Array.from({ length: 60 }, (_, i) => {
    if (i % 3 === 0) return query(db, insert(100 + i, i % 2 ? 'not json' : '{}'))
    if (i % 7 === 0) return query(db, sql.raw(`selec ${i}`))
    return query(db, sql`select ${i}::int as n, ${`text ${i}`}::text as x`)
  })
  for (const [i, result] of (await Promise.allSettled(mixed)).entries()) {
    if (i % 3 === 0 && i % 2 === 0) expect(result).toMatchObject({ value: [{ id: 100 + i }] })
    else if (i % 3 === 0) expect(sqlState((result as PromiseRejectedResult).reason)).toBe('22P02')
    else if (i % 7 === 0) expect(sqlState((result as PromiseRejectedResult).reason)).toBe('42601')
    else expect(result).toMatchObject({ value: [{ n: i, x: `text ${i}` }] })
  }
})

describe('transactions', () => {
  test('a failed statement fails its transaction, and nothing of it is there', async () => {
    await query(db, one(1))
    const states: (string | null)[] = []
    const work = atomically(db, async (tx) => {
      await query(tx, insert(9, '{}'))
      await query(tx, insert(10, 'not json')).catch((error: unknown) => states.push(sqlState(error)))
      await query(tx, one(1)).catch((error: unknown) => states.push(sqlState(error)))
      throw new Error('enough')
    })
    await expect(work).rejects.toThrow('enough')
    expect(states).toEqual(['22P02', '25P02'])
    expect(await query(db, all)).toHaveLength(2)
  })

  test('statements outside wait until the transaction has ended, and its own keep their order', async () => {
    const order: string[] = []
    let outside: Promise<unknown> | null = null
    await atomically(db, async (tx) => {
      await query(tx, insert(11, '{}'))
      outside = query(db, one(11)).then((rows) => order.push(`outside ${rows.length}`))
      await Promise.all(
        [1, 2, 3].map((id) => query(tx, one(id)).then((rows) => order.push(`${id}: ${rows.length}`))),
      )
      order.push('end')
    })
    await outside
    expect(order).toEqual(['1: 1', '2: 1', '3: 0', 'end', 'outside 1'])
  })

  test('a statement of a transaction that is over is refused', async () => {
    let left: Database | null = null
    await atomically(db, async (tx) => void (left = tx))
    await expect(query(left!, one(1))).rejects.toMatchObject({ cause: { message: 'Transaction is closed' } })
  })
})

describe('a migration that changes the result of a statement', () => {
  test('does not fail the statements after it', async () => {
    for (let i = 0; i < 7; i++) expect(await query(db, all)).toHaveLength(2)
    await query(db, sql.raw(`alter table t add column more text default 'new'`))
    expect(await query(db, all)).toEqual([
      { id: 1, data: { a: 1 }, more: 'new' },
      { id: 2, data: null, more: 'new' },
    ])
    await query(db, sql.raw('alter table t drop column data'))
    expect((await query(db, all))[0]).toEqual({ id: 1, more: 'new' })
  })

  test('makes a transaction that meets it start again, from its beginning', async () => {
    await query(db, all)
    let tries = 0
    const found = await atomically(db, async (tx) => {
      await query(tx, insert(20, '{}'))
      if (tries++ === 0) await query(tx, sql.raw('alter table t add column more int'))
      return query(tx, all)
    }).catch((error: unknown) => error)
    // The first try was rolled back with its new column: the second meets the table as it was.
    expect(tries).toBe(2)
    expect(found).toEqual([
      { id: 1, data: { a: 1 } },
      { id: 2, data: null },
      { id: 20, data: {} },
    ])
  })

  test('statements whose names the database has dropped are prepared again', async () => {
    await query(db, one(1))
    await client.exec('deallocate all')
    expect(await query(db, one(1))).toEqual([{ id: 1, data: { a: 1 } }])
  })
})

test('no more statements are kept than allowed: those that were used last', async () => {
  await client.exec('deallocate all')
  const statements = preparedStatements(client, 3)
  const run = (n: number) => statements.run(`select ${n} as n /* kept */`, [], {}, false)
  for (const n of [1, 2, 3, 1, 4, 5, 1]) expect((await run(n)).rows).toEqual([{ n }])
  expect(statements.count()).toBe(3)
  expect(await runsOf('% as n /* kept */')).toHaveLength(3)
  expect(await runsOf('select 1 as n %')).toEqual([3])
})

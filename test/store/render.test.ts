/** Statements are built by us and by Drizzle: both must say the same. */
import { eq, sql as sqlOfDrizzle, type SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import { expect, test } from 'vitest'
import { jsonb, nowPlus } from '../../src/store/db/database.ts'
import { render, sql } from '../../src/store/db/sql.ts'
import { agents } from '../../src/store/db/tables/agents.ts'
import { generations } from '../../src/store/db/tables/generations.ts'
import { insertSelect, recordset } from '../../src/store/db/rows.ts'

const dialect = new PgDialect()
const part = sql`wake_at = ${nowPlus(5)}`
const plain: Record<string, SQL> = {
  'a text': sql`select 1`,
  'values of every kind': sql`select ${'a'}, ${1}, ${true}, ${null}, ${12n}, ${undefined} as nothing`,
  'the same part twice': sql`update g set ${part} where ${part} and id = ${'x'}`,
  'a list': sql`select 1 where id in ${['a', 'b', 'c']} and n in ${[1]}`,
  'an empty list': sql`select 1 where id in ${[]}`,
  'a list of parts': sql`select ${[sql`now()`, sql`${'x'}::text`]}`,
  'joined parts': sql`select ${sql.join([sql`1`, sql`${2}`, sql.raw('3')], sql`, `)}`,
  'an empty part': sql`select 1 ${sql``} ${sqlOfDrizzle.empty()}`,
  'an insert': insertSelect(generations, { id: 'gen_1', settings: { a: 'ä' }, lastSeq: 2 }, sql`a`),
  'a record set': recordset(generations, [{ id: 'gen_1', lastSeq: 1 }], { more: 'text' }),
  'an appended part': sql`select 1`.append(sql` where ${'x'} = ${jsonb({ b: [1] })}`),
}

test.each(Object.keys(plain))('%s has the text and the values that Drizzle gives it', (name) => {
  const statement = plain[name]!
  const { sql: text, params } = dialect.sqlToQuery(statement)
  const made = render(statement)
  expect(made).not.toBe(statement)
  expect(dialect.sqlToQuery(made)).toEqual({ sql: text, params })
})

test.each([
  ['a column', sql`select 1 where ${eq(agents.id, 'agt_1')}`],
  ['a table', sql`select 1 from ${agents}`],
  ['a placeholder', sql`select ${sqlOfDrizzle.placeholder('x')}`],
  ['inlined values', sql`select ${'x'}`.inlineParams()],
  ['an object', sql`select ${new Date(0)}`],
])('a statement with %s is left to Drizzle', (_name, statement) => {
  expect(render(statement)).toBe(statement)
})

test('our tag makes what the tag of Drizzle makes', () => {
  const [a, b] = [sql`a = ${1}`, sql.raw('b')]
  expect(sql`select ${a}, ${agents.id} ${undefined} from ${[b]}`).toEqual(
    sqlOfDrizzle`select ${a}, ${agents.id} ${undefined} from ${[b]}`,
  )
  expect(sql`${b}`).toEqual(sqlOfDrizzle`${b}`)
  expect(sql.raw('x')).toEqual(sqlOfDrizzle.raw('x'))
  expect(sql.join([a, b, undefined], sql`, `)).toEqual(sqlOfDrizzle.join([a, b, undefined], sql`, `))
  expect(sql.join([a, b])).toEqual(sqlOfDrizzle.join([a, b]))
  expect(dialect.sqlToQuery(sql``)).toEqual(dialect.sqlToQuery(sqlOfDrizzle``))
})

test('a part that is used in many statements is not changed by them', () => {
  const of = (n: number) => sql`n = ${n}`
  const [one, two] = [of(1), of(2)]
  one.append(sql` or true`)
  expect([one, two, of(3)].map((made) => dialect.sqlToQuery(made).sql)).toEqual([
    'n = $1 or true',
    'n = $1',
    'n = $1',
  ])
})

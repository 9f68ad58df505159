/** The order of names beside jsonb: what the database loses comes back, for any value. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readJson, writeJson, type Json } from '../../src/core/json.ts'
import {
  argumentOrderOf,
  inKeyOrder,
  inSchemaOrder,
  keyOrderOf,
  type KeyOrder,
} from '../../src/core/key-order.ts'
import { connect } from '../../src/store/db/connect.ts'
import { jsonb, query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { databaseKinds, memoryDatabase, postgresDatabase } from '../support/databases.ts'

const names = ['b', 'a', 'aa', 'note', 'é', 'zz', '😀', '__proto__', 'constructor', '', 'ﬀ', 'Z', '10', '9']

const value = fc.letrec((tie) => ({
  node: fc.oneof(
    { depthSize: 'medium' },
    fc.integer(),
    fc.array(tie('node'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...names), tie('node'), { noNullPrototype: true }),
  ),
})).node as fc.Arbitrary<Json>

const open = {
  PGlite: async () => connect(await memoryDatabase()),
  PostgreSQL: async () => {
    const { url, drop } = await postgresDatabase()
    const connection = await connect({ kind: 'postgres', url, poolSize: 2 })
    return { db: connection.db, close: () => connection.close().then(drop) }
  },
}

test.each(databaseKinds)('%s loses the order, and it comes back', async (kind) => {
  const { db, close } = await open[kind]()
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(value, { minLength: 1 }), async (sent) => {
        const [row] = await query<{ back: Json; order: KeyOrder | null }>(
          db,
          sql`select ${jsonb(sent)} as back, ${jsonb(keyOrderOf(sent))} as "order"`,
        )
        expect(writeJson(inKeyOrder(row!.back, row!.order))).toBe(writeJson(sent))
      }),
    )
  } finally {
    await close()
  }
})

test('nothing is stored where the database keeps the order', () => {
  expect(keyOrderOf({ a: 1, b: [{ c: 1, dd: 2 }], aa: { x: 1 } })).toBeNull()
  expect(argumentOrderOf({ amount: 5, q: 'x' }, { properties: { q: {}, amount: {} } })).toBeNull()
  expect(argumentOrderOf(null, {})).toBeNull()
})

test('an order decides nothing: names that it lacks stay, names that are gone are no names', () => {
  const order = keyOrderOf({ zz: { bb: 1, a: 2 }, y: [{ d: 1, c: 2 }] })
  const other = { a: 1, y: { c: 1 }, zz: [1] }
  expect(writeJson(inKeyOrder(other, order))).toBe('{"zz":[1],"y":{"c":1},"a":1}')
  expect(inKeyOrder('text', order)).toBe('text')
})

test('schemas order what they know, through lists and references, and end in a circle', () => {
  const node = { properties: { value: {}, next: { $ref: '#/$defs/node' } } }
  const schema = { $ref: '#/$defs/node', $defs: { node } }
  const text = '{"next":{"next":{"x":1},"value":2},"value":1,"toString":3}'
  expect(writeJson(inSchemaOrder(readJson(text) as Json, schema))).toBe(
    '{"value":1,"next":{"value":2,"next":{"x":1}},"toString":3}',
  )
})

test('a value with very many objects keeps the order of the first ones, and every value', () => {
  const many = Array.from({ length: 50_000 }, (_, at) => ({ zz: at, a: at }))
  const order = keyOrderOf(many)
  expect(writeJson(order).length).toBeLessThan(100_000)
  const back = inKeyOrder(
    many.map(({ zz, a }) => ({ a, zz })),
    order,
  )
  expect(back).toEqual(many)
  expect(Object.keys(back[0]!)).toEqual(['zz', 'a'])
})

/** Keyset paging: each entry is returned once in both directions, even when the list changes between two pages. */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { hasPostgres, postgresDatabase } from '../../support/databases.ts'
import { openHarness, type Harness } from '../../support/harness.ts'

const list = `query($first: Int, $last: Int, $after: String, $before: String) {
  agents(first: $first, last: $last, after: $after, before: $before) {
    edges { cursor node { id name } } nodes { id } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }`

interface PageOfAgents {
  edges: { cursor: string; node: { id: string; name: string } }[]
  nodes: { id: string }[]
  pageInfo: { startCursor: string; endCursor: string; hasNextPage: boolean; hasPreviousPage: boolean }
}

const total = 23

describe.each([
  ['the embedded database', true],
  ['PostgreSQL', hasPostgres],
])('on %s', (name, answers) => {
  let h: Harness
  let drop = async () => {}
  let newestFirst: string[]

  beforeAll(async () => {
    if (!answers) return
    if (name === 'PostgreSQL') {
      const database = await postgresDatabase()
      drop = database.drop
      h = await openHarness({ databaseUrl: database.url })
    } else h = await openHarness({ databaseUrl: null })
    for (let i = 0; i < total; i++) await h.mutate('createAgent', { name: `agent ${i}` }, 'agent { id }')
    // Only two creation times, so that most neighbours have the same time and the id decides the order.
    await query(
      h.app.services.db,
      sql`update agents set created_at = case when name < 'agent 2' then timestamptz '2026-01-01 00:00:00.001Z'
        else timestamptz '2026-01-02 00:00:00.123Z' end`,
    )
    const rows = await query<{ id: string }>(
      h.app.services.db,
      sql`select id from agents order by created_at desc, id desc`,
    )
    newestFirst = rows.map((row) => row.id)
  })
  afterAll(async () => {
    await h?.stop()
    await drop()
  })

  const page = async (args: object): Promise<PageOfAgents> => {
    const result = await h.gql(list, args)
    if (result.errors) throw new Error(JSON.stringify(result.errors[0]))
    return result.data['agents']
  }
  const ids = (one: PageOfAgents) => one.edges.map((edge) => edge.node.id)

  async function walk(size: number, backward: boolean): Promise<string[]> {
    const found: string[] = []
    let args: object = backward ? { last: size } : { first: size }
    for (;;) {
      const one = await page(args)
      expect(one.nodes.map((node) => node.id)).toEqual(ids(one))
      if (backward) found.unshift(...ids(one))
      else found.push(...ids(one))
      const { hasNextPage, hasPreviousPage, startCursor, endCursor } = one.pageInfo
      if (backward ? !hasPreviousPage : !hasNextPage) return found
      args = backward ? { last: size, before: startCursor } : { first: size, after: endCursor }
    }
  }

  test.skipIf(!answers).each([1, 4, 22, 23, 24, 100])(
    'pages of %i return every entry once, in both directions',
    async (size) => {
      expect(await walk(size, false)).toEqual(newestFirst)
      expect(await walk(size, true)).toEqual(newestFirst)
    },
  )

  test.skipIf(!answers)('a page has 20 entries when nothing is said', async () => {
    expect(ids(await page({}))).toEqual(newestFirst.slice(0, 20))
  })

  test.skipIf(!answers)('a page between two cursors holds what lies between them', async () => {
    const all = await page({ first: 100 })
    const [after, before] = [all.edges[3]!.cursor, all.edges[9]!.cursor]
    expect(ids(await page({ first: 100, after, before }))).toEqual(newestFirst.slice(4, 9))
    expect(ids(await page({ first: 2, after, before }))).toEqual(newestFirst.slice(4, 6))
    expect(ids(await page({ last: 2, after, before }))).toEqual(newestFirst.slice(7, 9))
  })

  test.skipIf(!answers)('what is made or deleted between two pages moves nothing', async () => {
    const first = await page({ first: 5 })
    const { agent } = await h.mutate('createAgent', { name: 'in between' }, 'agent { id }')
    const second = await page({ first: 5, after: first.pageInfo.endCursor })
    expect([...ids(first), ...ids(second)]).toEqual(newestFirst.slice(0, 10))
    // The entry of the cursor may have been deleted: the cursor still has its position.
    const cursorOfGone = (await page({ first: 1 })).pageInfo.endCursor
    await h.mutate('deleteAgent', { id: agent.id }, 'agent { id }')
    expect(ids(await page({ first: 3, after: cursorOfGone }))).toEqual(newestFirst.slice(0, 3))
  })

  test.skipIf(!answers)('first: 0 is an empty page that tells whether there is more', async () => {
    const empty = await page({ first: 0 })
    expect(empty).toMatchObject({ edges: [], nodes: [], pageInfo: { hasNextPage: true } })
  })

  test.skipIf(!answers).each([
    [{ first: 101 }, 'first'],
    [{ last: 101 }, 'last'],
    [{ first: -1 }, 'first'],
    [{ last: -1 }, 'last'],
    [{ first: 1, last: 1 }, 'last'],
  ])('%j is refused and the fault is named', async (args, named) => {
    const { errors, status } = await h.gql(list, args)
    expect(status).toBe(200)
    expect(errors![0]!.extensions).toMatchObject({ code: 'INVALID', issues: [{ path: [named] }] })
  })

  const cursor = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  test.skipIf(!answers).each([
    ['garbage', 'garbage'],
    ['nothing but a letter', 'x'],
    ['no list', cursor({ at: 1 })],
    ['an unknown version', cursor([2, 1, 'a'])],
    ['a time that is no number', cursor([1, '1', 'a'])],
    ['a time beyond all dates', cursor([1, 9e15, 'a'])],
    ['a time that only JavaScript knows', cursor([1, 8.64e15 - 1, 'a'])],
    ['a time before all others', cursor([1, -8.64e15 + 1, 'a'])],
    ['an id that is no text', cursor([1, 1, 7])],
    ['a quote and SQL', cursor([1, "1'; drop table agents; --", 'a'])],
    ['an offset of another server', Buffer.from('OffsetConnection:3').toString('base64')],
  ])('a cursor that is %s is BAD_CURSOR', async (_what, made) => {
    for (const args of [{ after: made }, { before: made }]) {
      const { errors, data } = await h.gql(list, { first: 5, ...args })
      expect(errors![0]!.extensions).toEqual({ code: 'BAD_CURSOR' })
      expect(data).toBeNull()
    }
  })

  test.skipIf(!answers)('a cursor with a character that cannot be stored does no harm', async () => {
    const { status, errors } = await h.gql(list, { after: cursor([1, 1, '\u0000']) })
    // It is read as U+FFFD, as everywhere: a place like any other.
    expect([status, errors]).toEqual([200, undefined])
  })
})

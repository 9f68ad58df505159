/**
 * Sends every field of the API valid requests with one or two broken values: no internal error, no stall, no growth of
 * memory, no byte of another tenant. `npm run fuzz` tries 50,000 of them, and as many MCP messages.
 */
import fc from 'fast-check'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { extrasOf, furnish } from '../api/graphql/furnished-project.ts'
import {
  documentOf,
  minimalArguments,
  placesOf,
  argumentsWith,
  rootFields,
} from '../api/graphql/minimal-input.ts'
import { openHarness } from '../support/harness.ts'
import { startLoopback } from '../support/loopback.ts'
import { changesOf, fuzzCases, mutate, odd } from '../support/mutations.ts'
import { allowedStall, longestStall } from '../support/stall.ts'
import { forFile } from '../support/for-file.ts'

const h = await forFile(openHarness({ maxRowsPerProject: 200 }))
const upstream = await forFile(startLoopback((_request, response) => response.end('{}')))
const mine = await furnish(h, 'mine', upstream.url)
const theirs = await furnish(h, 'theirs', upstream.url)

/** Fields that would delete what all other cases need, or slow them down. */
const leftOut = /^(delete|revoke|disconnect|setRateLimit|createProject)/
const fields = rootFields.filter(({ name, kind }) => kind !== 'subscription' && !leftOut.test(name))
const scalars = ['ID', 'String', 'Int', 'Float', 'Boolean', 'JSON', 'JSONObject', 'JSONSchema', 'DateTime']
const cases = fuzzCases(400)

/** A field, optional arguments to fill in addition to the required ones, and what is broken afterwards. */
const broken = fc.record({
  root: fc.constantFrom(...fields),
  place: fc.nat(),
  changes: changesOf(
    fc.oneof({ weight: 3, arbitrary: odd }, { weight: 1, arbitrary: fc.constant('another id') }),
  ),
})

/** Everything that the other tenant owns, read from the database. */
async function heldBy(projectId: string): Promise<unknown[]> {
  const tables = [
    'tools',
    'agents',
    'api_keys',
    'approvals',
    'tool_calls',
    'generations',
    'secrets',
    'files',
    'grants',
  ]
  const counts = tables.map(
    (table) => `(select json_agg(t.id order by t.id) from ${table} t where t.project_id = '${projectId}')`,
  )
  return query(
    h.app.services.db,
    sql.raw(`select ${counts.map((one, i) => `${one} as "${tables[i]}"`).join(', ')}`),
  )
}

test(
  'broken requests are refused or served, in time, and change nothing of another tenant',
  { timeout: 720_000 + cases * 100 },
  async () => {
    const before = await heldBy(theirs.id)
    const own = { ids: mine.ids, extras: extrasOf(mine) }
    const foreign = Object.values(theirs.ids)
    const statuses = new Map<number, number>()
    let worst = { stall: 0, name: '' }
    let [served, memory] = [0, 0]
    await fc.assert(
      fc.asyncProperty(broken, async ({ root, place, changes }) => {
        const places = placesOf(root, scalars)
        const path = places[place % Math.max(1, places.length)]
        const base = path
          ? argumentsWith(root, own, path, place % 2 ? foreign[place % foreign.length] : String(place))
          : minimalArguments(root, own)
        const told = changes.map((one) =>
          one.value === 'another id' ? { ...one, value: foreign[one.at % foreign.length] } : one,
        )
        const variables = told.reduce(mutate, structuredClone(base) as unknown)
        let status = 0
        let said = ''
        const stall = await longestStall(async () => {
          const answer = await fetch(`${h.url}/graphql`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', authorization: `Bearer ${mine.key}` },
            body: JSON.stringify({ query: documentOf(root), variables }),
            signal: AbortSignal.timeout(20_000),
          })
          status = answer.status
          said = await answer.text()
        })
        if (stall > worst.stall) worst = { stall, name: root.name }
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        expect(status, said).toBeLessThan(500)
        expect(said, root.name).not.toMatch(/"INTERNAL"|node_modules|\.ts:\d|Failed query|theirs/)
        if (/"data":\{"\w+":\{/.test(said)) served++
        if (memory === 0 && served > 20) memory = process.memoryUsage().rss
      }),
      { numRuns: cases, seed: 20261122 },
    )
    console.log('fuzzed:', {
      ...Object.fromEntries(statuses),
      served,
      worst,
      grown: process.memoryUsage().rss / memory,
    })
    expect(served).toBeGreaterThan(cases / 20)
    expect(worst.stall, worst.name).toBeLessThan(allowedStall)
    expect(process.memoryUsage().rss).toBeLessThan(memory * 2)
    expect(await heldBy(theirs.id)).toEqual(before)
  },
)

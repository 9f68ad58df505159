/** The audits of the graphql-http package (GraphQL over HTTP), run against the production configuration. */
import { serverAudits } from 'graphql-http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { adminKey, openHarness, type Harness } from '../../support/harness.ts'

let h: Harness

beforeAll(async () => {
  h = await openHarness({ production: true, graphiql: false })
})
afterAll(() => h.stop())

const audits = serverAudits({
  url: () => `${h.url}/graphql`,
  fetchFn: (input: string, init: RequestInit = {}) =>
    fetch(input, { ...init, headers: { ...init.headers, authorization: `Bearer ${adminKey}` } }),
})

test('there are 61 audits', () => {
  expect(audits).toHaveLength(61)
})

test.each(audits.map((audit) => [audit.id, audit.name, audit] as const))(
  '%s: it %s',
  async (_id, _name, audit) => {
    const result = await audit.fn()
    expect(result).toMatchObject({ status: 'ok' })
  },
)

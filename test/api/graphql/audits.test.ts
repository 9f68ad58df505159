/** The audits of the graphql-http package (GraphQL over HTTP), run against the production configuration. */
import { serverAudits } from 'graphql-http'
import { expect, test } from 'vitest'
import { adminKey, openHarness } from '../../support/harness.ts'
import { forFile } from '../../support/for-file.ts'

const h = await forFile(openHarness({ production: true, graphiql: false }))

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

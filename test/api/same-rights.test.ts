/**
 * Every API that starts runs refuses the same callers, starts nothing for them, and leaves the same entries in the audit
 * as startGeneration of GraphQL does.
 */
import { describe, expect, test } from 'vitest'
import { adminKey, openHarness } from '../support/harness.ts'
import { runApis } from '../support/run-apis.ts'
import { makeFixtures } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const plainId = await fixtures.agent({ name: 'plain', mcp: { enabled: true } })
const door = { url: h.url, key: adminKey, agent: { id: plainId, name: 'plain' } }

async function makeKey(input: object) {
  const made = await h.mutate('createApiKey', { name: 'k', ...input }, 'apiKey { id } secret')
  return { id: made['apiKey'].id as string, secret: made['secret'] as string }
}
/** What the audit has of a principal, oldest first, without the ids of runs. */
async function entriesOf(principalId: string) {
  const { data } = await h.gql(
    'query($p: ID) { auditEntries(filter: { principalId: $p }, first: 100) { nodes { action resource outcome } } }',
    { p: principalId },
  )
  return data['auditEntries'].nodes.toReversed() as object[]
}
const runs = async () =>
  (await h.gql('{ generations(first: 100) { nodes { id } } }')).data['generations'].nodes

const callers: Record<string, () => Promise<{ id: string; secret: string | null }>> = {
  'no key': async () => ({ id: 'nobody', secret: null }),
  'a revoked key': async () => {
    const key = await makeKey({ role: 'ADMIN' })
    await h.mutate('revokeApiKey', { id: key.id }, 'apiKey { id }')
    return key
  },
  'a key of another project': async () => {
    const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
    return makeKey({ projectId: project.id, role: 'ADMIN' })
  },
  'a key that is bound to another agent': async () =>
    makeKey({ agentId: await fixtures.agent(), role: 'ADMIN' }),
  'a key without the permission': async () => makeKey({ role: 'VIEWER' }),
}

const names = Object.keys(runApis) as (keyof typeof runApis)[]
/** The status, where it is not that of the code. GraphQL has its errors in the body; MCP does not show what a key may not use. */
const expected: Record<
  string,
  [status: number, code: string, own?: Partial<Record<keyof typeof runApis, [number, string]>>]
> = {
  'no key': [401, 'UNAUTHENTICATED'],
  'a revoked key': [401, 'UNAUTHENTICATED'],
  'a key of another project': [404, 'NOT_FOUND', { graphql: [200, 'NOT_FOUND'], a2a: [404, 'NOT_FOUND'] }],
  'a key that is bound to another agent': [403, 'FORBIDDEN', { graphql: [400, 'FORBIDDEN'] }],
  'a key without the permission': [
    403,
    'FORBIDDEN',
    { graphql: [200, 'FORBIDDEN'], mcp: [200, 'UNKNOWN_TOOL'] },
  ],
}

describe.each(Object.keys(callers))('%s', (who) => {
  test.each(names)('in %s', async (name) => {
    const { id, secret } = await callers[who]!()
    const before = await runs()
    const { status, code } = await runApis[name].start({ ...door, key: secret }, 'say x')
    const [expectedStatus, expectedCode, own] = expected[who]!
    expect([status, code?.toUpperCase()]).toEqual(own?.[name] ?? [expectedStatus, expectedCode])
    expect(await runs()).toEqual(before)
    const isDenied = who === 'a key without the permission' && name !== 'mcp'
    const start = { action: 'generations:Start', resource: `agent/${door.agent.id}`, outcome: 'DENIED' }
    // A key that is bound elsewhere gets as far as the agent in MCP, which is the API that it is for.
    const read = { action: 'agents:Get', resource: `agent/${door.agent.id}`, outcome: 'DENIED' }
    const isRead = who === 'a key that is bound to another agent' && name === 'mcp'
    expect(await entriesOf(id)).toEqual([...(isDenied ? [start] : []), ...(isRead ? [read] : [])])
  })
})

test.each(names)('a run that was allowed leaves in %s what GraphQL leaves', async (name) => {
  const left = async (one: keyof typeof runApis) => {
    const { id, secret } = await makeKey({ role: 'DEVELOPER' })
    const outcome = await runApis[one].start(
      { ...door, key: secret },
      'call act {"word":"w"}\nthen\nsay done',
    )
    expect(outcome).toEqual({ status: 200, code: null })
    const [{ id: run }] = await runs()
    await h.until(run, ['COMPLETED'])
    return entriesOf(id)
  }
  const entries = await left(name)
  expect(entries).toMatchObject([{ action: 'tools:Call', outcome: 'EXECUTED' }])
  expect(entries).toEqual(await left('graphql'))
})

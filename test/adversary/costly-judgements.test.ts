/** Arguments that take too long to be judged: the gate stays shut for them, and for nobody else's project. */
import { expect, test } from 'vitest'
import { openHarness } from '../support/harness.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))

/** A gate whose pattern backtracks without end on the costly query. Equal gates of a project share what they cost. */
const gateOn = (table: string) => ({
  mode: 'WHEN',
  when: { properties: { query: { type: 'string', pattern: `^(\\w+\\s?)*; delete from ${table}$` } } },
})
const costlyOn = (table: string) => `${'word '.repeat(20_000)}!; delete from ${table}`

async function sqlTool(name: string, table: string, key?: string): Promise<string> {
  const gate = gateOn(table)
  const inputSchema = objectSchema({ query: { type: 'string' } }, ['query'])
  const config = { http: { url: `${fixtures.upstream.url}/${name}`, inputSchema } }
  const made = await h.mutate('createTool', { name, config, gate }, 'tool { id }', key)
  expect(made['tool'], JSON.stringify(made)).toBeTruthy()
  return made['tool'].id
}

async function statusOf(toolId: string, query: string, key?: string): Promise<string> {
  const made = await h.mutate('callTool', { toolId, arguments: { query } }, 'toolCall { status }', key)
  return made['toolCall'].status
}

const evaluate = (toolId: string, query: string) =>
  h.gql(
    `query($toolId: ID!, $arguments: JSONObject!) {
      evaluateGate(toolId: $toolId, arguments: $arguments) { requirement { quorum } } }`,
    { toolId, arguments: { query } },
  )

test('a call that its gate cannot judge waits for a person, and so does the next one', async () => {
  const toolId = await sqlTool('sql_calls', 'users')
  expect(await statusOf(toolId, 'select 1')).toBe('SUCCEEDED')
  expect(await statusOf(toolId, costlyOn('users'))).toBe('AWAITING_APPROVAL')
  expect(await statusOf(toolId, 'select 1')).toBe('AWAITING_APPROVAL')
  expect(fixtures.upstream.seen.filter(({ url }) => url === '/sql_calls')).toHaveLength(1)
})

test('a trial of a gate neither opens it nor keeps calls from being judged', async () => {
  const toolId = await sqlTool('sql_trials', 'orders')
  const tried = await evaluate(toolId, costlyOn('orders'))
  expect(tried.data['evaluateGate'].requirement, JSON.stringify(tried)).toMatchObject({ quorum: 1 })
  expect(await statusOf(toolId, '; delete from orders')).toBe('AWAITING_APPROVAL')
  expect(await statusOf(toolId, 'select 1')).toBe('SUCCEEDED')
})

test('an equal gate of another project is judged as if nothing had happened', async () => {
  const toolId = await sqlTool('sql_mine', 'keys')
  expect(await statusOf(toolId, costlyOn('keys'))).toBe('AWAITING_APPROVAL')
  const other = await h.mutate('createProject', { name: 'other' }, 'project { id }')
  const projectId = other['project'].id
  const made = await h.mutate('createApiKey', { name: 'k', projectId, role: 'ADMIN' }, 'secret')
  const theirs = await sqlTool('sql_theirs', 'keys', made['secret'])
  expect(await statusOf(theirs, 'select 1', made['secret'])).toBe('SUCCEEDED')
})

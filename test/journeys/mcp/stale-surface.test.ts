/** A call over the bridge is checked against cached rows; what commits it proves that they are still the same. */
import { sql, type SQL } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { gateDefaults } from '../../../src/domain/gates/policy.ts'
import { query } from '../../../src/store/db/database.ts'
import { aroundStatements } from '../../support/around-statements.ts'
import { callRaw } from '../../support/bridge.ts'
import { openHarness } from '../../support/harness.ts'
import { startLoopback } from '../../support/loopback.ts'
import { objectSchema } from '../../support/fixtures.ts'
import { forFile } from '../../support/for-file.ts'

let count = 0

const upstream = await forFile(startLoopback((request, response) => response.end(`answered ${request.url}`)))
const h = await forFile(openHarness({ databaseUrl: null }))

/** Changes rows as another replica does whose hints are lost. */
const silently = (statement: SQL) => query(h.app.services.db, statement)

/** An agent with one POST tool, called once so that everything about it is cached, and a key of its project. */
async function cached() {
  const name = `cached_${++count}`
  const http = {
    url: `${upstream.url}/${name}`,
    method: 'POST',
    inputSchema: objectSchema({ n: { type: 'string' } }),
  }
  const { tool } = await h.mutate('createTool', { name, config: { http } }, 'tool { id }')
  const agent = await h.mutate(
    'createAgent',
    { name: `agent_${count}`, toolIds: [tool.id], mcp: { enabled: true } },
    'agent { id }',
  )
  const { apiKey, secret } = await h.mutate('createApiKey', { name, role: 'CALLER' }, 'apiKey { id } secret')
  const call = (args: object = { n: 'x' }) => callRaw(`${h.url}/mcp/${agent['agent'].id}`, secret, name, args)
  const first = await call()
  expect(first.body['result'].content[0].text).toBe(`answered /${name}`)
  const sent = () => upstream.seen.filter(({ url }) => url.startsWith(`/${name}`)).length
  return { name, toolId: tool.id, agentId: agent['agent'].id, keyId: apiKey.id, call, sent }
}

test('a call sends two statements: one that begins it and one with its outcome', async () => {
  const { call } = await cached()
  const { db } = h.app.services
  const statements: string[] = []
  const stop = aroundStatements(db, ({ text, execute }) => {
    // Polls, numbering and the worker's claim are no part of the call.
    if (!/unnumbered|number_waiting_events|with due as/.test(text)) statements.push(text)
    return execute()
  })
  try {
    // What is cached is read again after a few seconds, which one of these calls may meet.
    for (let tries = 0; tries < 3 && statements.length !== 2; tries++) {
      statements.length = 0
      await call()
    }
  } finally {
    stop()
  }
  expect(statements).toEqual([
    expect.stringContaining('insert into tool_calls'),
    expect.stringContaining('update tool_calls'),
  ])
})

test('a revoked key begins no call, although its revocation reached this process by no hint', async () => {
  const { keyId, call, sent } = await cached()
  await silently(sql`update api_keys set revoked_at = now() where id = ${keyId}`)
  const refused = await call()
  expect(JSON.stringify(refused.body)).toContain('API key')
  expect(refused.body['result']).toBeUndefined()
  expect(sent()).toBe(1)
})

test('an expired key begins no call', async () => {
  const { keyId, call, sent } = await cached()
  await silently(sql`update api_keys set expires_at = now() - interval '1 second' where id = ${keyId}`)
  expect((await call()).body['result']).toBeUndefined()
  expect(sent()).toBe(1)
})

test('a changed tool is called as it is now, at once and once', async () => {
  const { toolId, name, call, sent } = await cached()
  const url = JSON.stringify(`${upstream.url}/${name}/moved`)
  await silently(sql`with changed as (
      update tools set version = version + 1, definition = jsonb_set(definition, '{http,url}', ${url}::jsonb)
      where id = ${toolId}
      returning id, version, project_id, definition
    )
    insert into tool_versions (tool_id, version, project_id, definition)
    select id, version, project_id, definition from changed`)
  expect((await call()).body['result'].content[0].text).toBe(`answered /${name}/moved`)
  expect((await call()).body['result'].content[0].text).toBe(`answered /${name}/moved`)
  expect(sent()).toBe(3)
})

test('a gate that was added stops the next call', async () => {
  const { toolId, call, sent } = await cached()
  const gate = JSON.stringify({ gate: gateDefaults })
  await silently(
    sql`update tools set version = version + 1, definition = definition || ${gate}::jsonb where id = ${toolId}`,
  )
  const stopped = call()
  const waiting = () =>
    query(h.app.services.db, sql`select 1 from approvals where tool_id = ${toolId} and status = 'PENDING'`)
  await expect.poll(waiting).toHaveLength(1)
  expect(sent()).toBe(1)
  await silently(sql`update approvals set expires_at = now(), wake_at = now() where tool_id = ${toolId}`)
  await stopped
  expect(sent()).toBe(1)
})

test('a tool that was taken from the agent, or deleted, is unknown', async () => {
  const taken = await cached()
  await silently(
    sql`update agents set version = version + 1, definition = jsonb_set(definition, '{toolIds}', '[]')
      where id = ${taken.agentId}`,
  )
  expect((await taken.call()).body['error']).toMatchObject({ data: { type: 'unknown_tool' } })
  const deleted = await cached()
  await silently(sql`delete from tools where id = ${deleted.toolId}`)
  expect((await deleted.call()).body['error']).toMatchObject({ data: { type: 'unknown_tool' } })
  expect(taken.sent() + deleted.sent()).toBe(2)
})

test('arguments that fit only the changed schema are accepted', async () => {
  const { toolId, call, sent } = await cached()
  const schema = JSON.stringify(objectSchema({ m: { type: 'number' } }))
  await silently(
    sql`update tools set version = version + 1, definition = jsonb_set(definition, '{inputSchema}', ${schema}::jsonb)
      where id = ${toolId}`,
  )
  expect((await call({ m: 1 })).body['result'].isError).not.toBe(true)
  expect(sent()).toBe(2)
})

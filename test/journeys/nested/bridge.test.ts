/** Child runs behind an MCP client: it talks to one agent, and a person decides about a call of another one. */
import { expect, test } from 'vitest'
import { callRaw, rpc } from '../../support/bridge.ts'
import { makeGatedAgent } from '../../support/gated-agent.ts'
import { openHarness } from '../../support/harness.ts'
import { asking, makeAgent } from '../../support/nested-fixtures.ts'
import { forFile } from '../../support/for-file.ts'

const h = await forFile(openHarness({}, { mcp: { inlineHoldMs: 50 } }))
const agent = await forFile(makeGatedAgent(h))

test('a stopped call of a child run is pending for the caller, and its approval leads to the answer of the whole chain', async () => {
  const front = await makeAgent(h, { name: 'front', agentIds: [agent.agentId], mcp: { enabled: true } })
  const url = `${h.url}/mcp/${front}`
  const listed = await rpc(url, agent.callerKey, { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
  const names = listed.body['result'].tools.map((tool: { name: string }) => tool.name)
  expect(names, 'bound agents are not served by themselves').toEqual(['front'])
  const message = asking('teller', 'call pay {"word":"x"}\nthen\nsay paid', 'all is paid')
  const args = { message, idempotency_key: 'one' }
  const call = async () => (await callRaw(url, agent.callerKey, 'front', args)).body
  const pending = JSON.stringify(await call())
  expect(pending).toContain('pending_approval')
  expect(await agent.decide()).toMatchObject({ approval: { status: 'APPROVED' } })
  const stream = 'subscription { projectEvents(after: "0", types: [GENERATION_COMPLETED]) { type } }'
  await h.collect(stream, {}, (events) => events.length === 2)
  expect(JSON.stringify(await call())).toContain('all is paid')
  expect(agent.paid()).toBe(1)
})

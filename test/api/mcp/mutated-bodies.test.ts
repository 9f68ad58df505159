/** A thousand and more malformed requests: each gets a response, none an internal error, and the server keeps working. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rpc } from '../../support/bridge.ts'
import { useGatedAgent } from '../../support/gated-agent.ts'
import { acceptStream, envelope, tasksCapability } from '../../support/mcp-wire.ts'
import { changesOf, fuzzCases, mutate, odd } from '../../support/mutations.ts'

const { h, agent } = await useGatedAgent({ inlineHoldMs: 10, roundHoldMs: 10, taskAfterMs: 10 })

const modernMeta = envelope(tasksCapability)
const sound: Record<string, any>[] = [
  { method: 'tools/list' },
  { method: 'tools/call', params: { name: 'echo', arguments: { word: 'w', idempotency_key: 'k' } } },
  { method: 'tools/call', params: { name: 'echo', arguments: { word: 'w' }, _meta: { progressToken: 1 } } },
  { method: 'tools/call', params: { name: 'teller', arguments: { message: 'hello', conversation_id: 'x' } } },
  { method: 'tools/call', params: { name: 'approval_wait', arguments: { call_id: 'call_x' } } },
  {
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
  },
  { method: 'tools/call', params: { name: 'echo', arguments: { word: 'w' }, _meta: modernMeta } },
  { method: 'tasks/get', params: { taskId: 'call_x.y', _meta: modernMeta } },
  { method: 'server/discover', params: { _meta: modernMeta } },
  { method: 'notifications/cancelled', params: { requestId: 1 } },
].map((one, id) => ({ jsonrpc: '2.0', id, ...one }))

/** A sound message with one or two of its values replaced, taken away or doubled, anywhere. */
const mutated = fc
  .record({
    base: fc.constantFrom(...sound),
    changes: changesOf(odd),
  })
  .map(({ base, changes }) => changes.reduce(mutate, structuredClone(base) as unknown))

const body = fc.oneof(
  { weight: 6, arbitrary: mutated.map((value) => JSON.stringify(value) ?? 'null') },
  { weight: 1, arbitrary: fc.array(mutated, { maxLength: 4 }).map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: fc.json() },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
  { weight: 1, arbitrary: fc.nat(3000).map((depth) => '['.repeat(depth) + ']'.repeat(depth)) },
)

const headers = fc.constantFrom<Record<string, string>>(
  {},
  { accept: acceptStream },
  { 'mcp-protocol-version': '2025-11-25', accept: acceptStream },
  {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'echo',
    accept: acceptStream,
  },
  { 'mcp-protocol-version': 'x', 'mcp-session-id': 'y' },
)

const cases = fuzzCases(1000)

test(
  'random and mutated bodies never give a 5xx, a hang or a crash',
  { timeout: 720_000 + cases * 100 },
  async () => {
    const statuses = new Map<number, number>()
    await fc.assert(
      fc.asyncProperty(body, headers, fc.boolean(), async (text, more, platform) => {
        const url = platform ? `${h.url}/mcp` : agent.url
        const answer = await fetch(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-agent-api-key': agent.callerKey, ...more },
          body: text,
          signal: AbortSignal.timeout(10_000),
        })
        const said = await answer.text()
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
        expect(answer.status, said).toBeLessThan(500)
        expect(said).not.toMatch(/internal_error|-32603|node_modules|\.ts:\d|Failed query/)
      }),
      { numRuns: cases, seed: 20261121 },
    )
    // Guards against a vacuous pass: some requests were served, many refused.
    expect(statuses.get(200)).toBeGreaterThan(50)
    expect(statuses.get(400)).toBeGreaterThan(50)
    const { body: list } = await rpc(agent.url, agent.callerKey, sound[0])
    expect(list['result'].tools.length).toBe(6)
  },
)

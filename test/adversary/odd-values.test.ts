/** Found by the fuzzer: a value whose `toString` is not a function, where text is expected. `String` throws for it. */
import { expect, test } from 'vitest'
import { errorResult } from '../../src/core/content.ts'
import { asText } from '../../src/core/json.ts'
import { collectCatalog } from '../../src/domain/upstream/catalog/collect.ts'
import { emptyCatalog } from '../../src/domain/upstream/catalog/catalog.ts'
import { unknownResult } from '../../src/domain/tools/outcome.ts'
import { makeGatedAgent } from '../support/gated-agent.ts'
import { openHarness } from '../support/harness.ts'

const odd = { toString: [[1]], toJSON: 2 }

test('it is shown as JSON', () => {
  expect(asText(odd)).toBe('{"toString":[[1]],"toJSON":2}')
  expect(asText(undefined)).toBe('undefined')
  expect(asText(5)).toBe('5')
})

test('as the name of a tool over MCP it is refused', async () => {
  const h = await openHarness()
  const agent = await makeGatedAgent(h)
  try {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const message = {
      jsonrpc: '2.0',
      id: 6,
      method: 'tools/call',
      params: { name: odd, arguments: {}, _meta },
    }
    const answer = await fetch(agent.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-agent-api-key': agent.callerKey },
      body: JSON.stringify(message),
    })
    expect(answer.status).toBeLessThan(500)
  } finally {
    await agent.close()
    await h.stop()
  }
})

test("as the name in an upstream's list it costs that entry only", async () => {
  const list = {
    tools: [
      { name: odd, inputSchema: {} },
      { name: 'good', inputSchema: { type: 'object' } },
    ],
  }
  const facts = { server: null, instructions: null, capabilities: { tools: {} } }
  const { catalog } = await collectCatalog(async () => list as never, facts, emptyCatalog, 'proj_a')
  expect(catalog.tools.map((tool) => tool.name)).toEqual(['good'])
  expect(catalog.notes).toHaveLength(1)
})

test('in the response of a gateway instead of the tool it leaves the call unknown', () => {
  const cause = errorResult('http_error', 'x')
  cause.structuredContent = { error: { code: 'x', message: odd } } as never
  expect(unknownResult(cause).isError).toBe(true)
})

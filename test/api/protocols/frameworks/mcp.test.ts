/** Frameworks as MCP clients of an agent, with their defaults: tools, errors, a gate, a short time limit and a wrong key. */
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { makeGatedAgent, type GatedAgent } from '../../../support/gated-agent.ts'
import { openHarness, type Harness } from '../../../support/harness.ts'
import { hasPeers, importPeer } from '../../../support/peers.ts'

type Loose = Record<string, any>
interface Opened {
  names: string[]
  /** The text of the result, or of the error. */
  call(name: string, args: object): Promise<string>
  close(): Promise<void>
}

/** `timeout`: its own time limit in milliseconds. */
type Open = (url: string, key: string, timeout?: number) => Promise<Opened>

const textOf = (result: unknown) => (typeof result === 'string' ? result : JSON.stringify(result))
const headersOf = (key: string) => ({ Authorization: `Bearer ${key}` })

const mastra: Open = async (url, key, timeout) => {
  const { MCPClient } = await importPeer<Loose>('@mastra/mcp')
  const servers = { gatehouse: { url: new URL(url), requestInit: { headers: headersOf(key) } } }
  const client = new MCPClient({ id: `${key} ${timeout}`, servers, ...(timeout ? { timeout } : {}) })
  const tools = await client.listTools()
  return {
    names: Object.keys(tools),
    call: async (name, args) =>
      textOf(
        await tools[`gatehouse_${name}`].execute(args, {}).catch((error: Error) => `Error: ${error.message}`),
      ),
    close: () => client.disconnect(),
  }
}

const langChain: Open = async (url, key, timeout) => {
  const { MultiServerMCPClient } = await importPeer<Loose>('@langchain/mcp-adapters')
  const client = new MultiServerMCPClient({
    mcpServers: { gatehouse: { transport: 'http', url, headers: headersOf(key) } },
    throwOnLoadError: true,
    ...(timeout ? { defaultToolTimeout: timeout } : {}),
  })
  const tools: Loose[] = await client.getTools()
  return {
    names: tools.map(({ name }) => name),
    async call(name, args) {
      const found = tools.find((one) => one['name'] === name) as Loose
      return textOf(await found['invoke'](args).catch((error: Error) => `Error: ${error.message}`))
    },
    close: () => client.close(),
  }
}

const agents: Open = async (url, key, timeout) => {
  const { MCPServerStreamableHttp } = await importPeer<Loose>('@openai/agents')
  const server = new MCPServerStreamableHttp({
    url,
    name: 'gatehouse',
    requestInit: { headers: headersOf(key) },
    ...(timeout ? { timeout } : {}),
  })
  await server.connect()
  const tools: Loose[] = await server.listTools()
  return {
    names: tools.map(({ name }) => name),
    call: async (name, args) =>
      textOf(await server.callTool(name, args).catch((error: Error) => `Error: ${error.message}`)),
    close: () => server.close(),
  }
}

/** The AI SDK's own, of this package: it has no time limit, but a signal for each call. */
const aiSdk =
  (name: string): Open =>
  async (url, key, timeout) => {
    const { experimental_createMCPClient: createClient } = await importPeer<Loose>(name)
    const client = await createClient({ transport: { type: 'http', url, headers: headersOf(key) } })
    const tools: Loose = await client.tools()
    return {
      names: Object.keys(tools),
      async call(tool, args) {
        const abortSignal = timeout ? AbortSignal.timeout(timeout) : undefined
        const called = tools[tool].execute(args, { messages: [], toolCallId: 'one', abortSignal })
        return textOf(
          await called.catch((error: Error) => `Error: ${error.message} ${abortSignal?.reason ?? ''}`),
        )
      },
      close: () => client.close(),
    }
  }
const aiSdk5 = aiSdk('ai-sdk-mcp0')

const mcpUse: Open = async (url, key, timeout) => {
  vi.stubEnv('MCP_USE_ANONYMIZED_TELEMETRY', 'false')
  const { MCPClient } = await importPeer<Loose>('mcp-use/client')
  const client = new MCPClient({ mcpServers: { gatehouse: { url, headers: headersOf(key) } } })
  const session = await client.createSession('gatehouse')
  const tools: Loose[] = await session.listTools()
  return {
    names: tools.map(({ name }) => name),
    call: async (name, args) =>
      textOf(
        await session
          .callTool(name, args, timeout ? { timeout } : undefined)
          .catch((error: Error) => `Error: ${error.message}`),
      ),
    close: () => client.closeAllSessions(),
  }
}

let h: Harness
let agent: GatedAgent
beforeAll(async () => {
  if (!hasPeers) return
  // They print the errors that these tests are about.
  for (const method of ['error', 'warn', 'log'] as const)
    vi.spyOn(console, method).mockImplementation(() => undefined)
  h = await openHarness()
  agent = await makeGatedAgent(h)
})
afterAll(async () => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  await agent?.close()
  await h?.stop()
})

const clients: [string, Open][] = [
  ['@mastra/mcp', mastra],
  ['@langchain/mcp-adapters', langChain],
  ['@openai/agents', agents],
  ['@ai-sdk/mcp 0 of ai 5', aiSdk5],
  ['@ai-sdk/mcp 2 of ai 7', aiSdk('ai-sdk-mcp2')],
  ['mcp-use', mcpUse],
]

describe.skipIf(!hasPeers).each(clients)('%s', (name, open) => {
  test('tools, and one that fails', async () => {
    const client = await open(agent.url, agent.callerKey)
    const named = ['echo', 'fail', 'pay', 'teller'].map((one) => expect.stringMatching(`${one}$`))
    expect(client.names).toEqual(expect.arrayContaining(named))
    expect(await client.call('echo', { word: 'hi' })).toContain('done: /echo')
    expect(await client.call('fail', { word: 'hi' })).toContain('it broke')
    await client.close()
  })

  test.each(['APPROVE', 'REJECT'] as const)(
    'a gate holds the call until a person decided: %s',
    async (verdict) => {
      const client = await open(agent.url, agent.callerKey)
      const before = agent.paid()
      const [result] = await Promise.all([
        client.call('pay', { word: `${verdict} ${name}` }),
        agent.decide(verdict),
      ])
      expect(result).toContain(verdict === 'APPROVE' ? 'done: /pay' : 'approval_rejected')
      expect(agent.paid() - before).toBe(verdict === 'APPROVE' ? 1 : 0)
      await client.close()
    },
  )

  if (open === aiSdk5)
    test('a signal that fires before the verdict: the call runs once, and the result is thrown away', async () => {
      const limit = 500
      const client = await open(agent.url, agent.callerKey, limit)
      const before = agent.paid()
      const called = client.call('pay', { word: `signal ${name}` })
      await once(AbortSignal.timeout(limit), 'abort')
      await agent.decide()
      expect(await called).toContain('Request was aborted')
      expect(agent.paid() - before).toBe(1)
      await client.close()
    })
  else
    test('a call that it gives up and makes again gets its result, and runs once', async () => {
      const hasty = await open(agent.url, agent.callerKey, 1500)
      const before = agent.paid()
      expect(await hasty.call('pay', { word: `again ${name}` })).toMatch(/timed? ?out/i)
      await agent.decide()
      expect(await hasty.call('pay', { word: `again ${name}` })).toContain('done: /pay')
      expect(agent.paid() - before).toBe(1)
      await hasty.close()
    })

  test('a wrong key opens nothing', async () => {
    const told = await open(agent.url, 'gh_nobody').then(({ names }) => names, String)
    // Mastra tells it to its log only.
    expect(told).toEqual(
      name === '@mastra/mcp' ? [] : expect.stringMatching(/auth(?:ori[sz]|entic)ation|credentials/i),
    )
  })
})

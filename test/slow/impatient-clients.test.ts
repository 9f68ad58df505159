/**
 * A person who takes more than a minute, with the default timings: clients that wait, and clients whose own time limit ends
 * before and that send the same request until they have a result. Each call runs once.
 */
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { describe, expect, test } from 'vitest'
import { allPeers } from '../support/all-peers.ts'
import { makeGatedAgent } from '../support/gated-agent.ts'
import { openHarness } from '../support/harness.ts'
import { callThrough, connectV1, textOf, type McpResult } from '../support/mcp-clients.ts'
import { hasPeers, importPeer, peerFile } from '../support/peers.ts'
import { forFile } from '../support/for-file.ts'

/** Longer than each of the limits. */
const thinkingMs = 75_000

const h = await forFile(openHarness())
/** Of the clients that give up, and of those that wait. */
const agent = await forFile(makeGatedAgent(h))
const patientServer = await forFile(openHarness())
const patientAgent = await forFile(makeGatedAgent(patientServer))

/** Makes one call; the text of its result. Rejects when the client gives up. */
type Ask = (word: string) => Promise<string>
interface Opened {
  ask: Ask
  close(): Promise<void>
}

function official(timeout: number | undefined, withProgress = false) {
  return async (): Promise<Opened> => {
    const { client, leave } = await connectV1(agent.url, agent.callerKey)
    return { ask: askThrough(client, timeout, withProgress), close: leave }
  }
}

function askThrough(client: Client, timeout: number | undefined, withProgress: boolean): Ask {
  const options = {
    ...(timeout === undefined ? {} : { timeout }),
    ...(withProgress ? { onprogress: () => {} } : {}),
  }
  return async (word) =>
    textOf((await client.callTool({ name: 'pay', arguments: { word } }, undefined, options)) as McpResult)
}

/** The proxy that hosts which speak only stdio start. */
async function mcpRemote(): Promise<Opened> {
  const client = new Client({ name: 'a host', version: '1' })
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [
      peerFile('node_modules/mcp-remote/dist/proxy.js'),
      agent.url,
      '--allow-http',
      '--transport',
      'http-only',
      '--header',
      `Authorization:Bearer ${agent.callerKey}`,
    ],
    stderr: 'ignore',
  })
  await client.connect(transport)
  return { ask: askThrough(client, undefined, true), close: () => client.close() }
}

interface LangChainClient {
  getTools(): Promise<{ name: string; invoke(args: object): Promise<unknown> }[]>
  close(): Promise<void>
}

async function langChain(): Promise<Opened> {
  const { MultiServerMCPClient } = await importPeer<{
    MultiServerMCPClient: new (options: object) => LangChainClient
  }>('@langchain/mcp-adapters')
  const headers = { authorization: `Bearer ${agent.callerKey}` }
  const client = new MultiServerMCPClient({
    mcpServers: { gatehouse: { transport: 'http', url: agent.url, headers } },
    onProgress: () => {},
  })
  const pay = (await client.getTools()).find(({ name }) => name.endsWith('pay'))!
  return { ask: async (word) => JSON.stringify(await pay.invoke({ word })), close: () => client.close() }
}

const clients: Record<string, () => Promise<Opened>> = {
  'SDK v1, 10 s': official(10_000),
  'SDK v1, 20 s': official(20_000),
  'SDK v1, 60 s': official(undefined),
  'SDK v1, 60 s, with progress that does not extend it': official(undefined, true),
  ...(hasPeers ? { 'mcp-remote': mcpRemote, '@langchain/mcp-adapters with onProgress': langChain } : {}),
}

describe.concurrent('a person who takes more than a minute', () => {
  test(
    'a client that gives up and asks again gets its result, and a person was asked once for it',
    { timeout: 720_000 },
    async () => {
      const names = Object.keys(clients)
      const gaveUp: Record<string, number> = {}
      const results = names.map(async (name) => {
        const { ask, close } = await clients[name]!()
        for (gaveUp[name] = 0; ;) {
          const text = await ask(name).catch((error: Error) => {
            if (!/timed? ?out/i.test(error.message)) throw error
            gaveUp[name]!++
            return 'Not executed yet'
          })
          if (text.includes('Not executed yet')) continue
          await close()
          return text.includes(`done: /pay`)
        }
      })
      await new Promise((resolve) => setTimeout(resolve, thinkingMs))
      const asked = await h.gql('{ approvals(first: 100) { nodes { status } } }')
      expect(asked.data['approvals'].nodes).toEqual(names.map(() => ({ status: 'PENDING' })))
      for (const _ of names) await agent.decide()
      expect(await Promise.all(results)).toEqual(names.map(() => true))
      expect(agent.paid()).toBe(names.length)
      expect(gaveUp['SDK v1, 10 s']).toBeGreaterThan(3)
      expect(gaveUp['SDK v1, 60 s, with progress that does not extend it']).toBe(0)
      expect(gaveUp['@langchain/mcp-adapters with onProgress'] ?? 0).toBe(0)
    },
  )

  test('every client that waits gets its result', { timeout: 720_000 }, async () => {
    const names = Object.keys(allPeers)
    const calls = names.map(async (name) => {
      const peer = await allPeers[name]!(patientAgent.url, patientAgent.callerKey)
      const result = await callThrough(peer, 'pay', { word: name })
      await peer.close()
      return [name, result.isError ?? false, textOf(result)]
    })
    await new Promise((resolve) => setTimeout(resolve, thinkingMs))
    expect(patientAgent.paid()).toBe(0)
    for (let left = names.length; left > 0; left--) await patientAgent.decide()
    const told = names.map((name) => [name, false, `done: /pay ${JSON.stringify({ word: name })}`])
    expect(await Promise.all(calls)).toEqual(told)
    expect(patientAgent.paid()).toBe(names.length)
  })
})

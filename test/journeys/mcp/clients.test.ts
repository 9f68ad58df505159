/** Every MCP client that people use: it lists and calls tools, gets errors, and waits for a slow approval. */
import { describe, expect, test } from 'vitest'
import { allPeers } from '../../support/all-peers.ts'
import { useGatedAgent } from '../../support/gated-agent.ts'
import { callThrough, textOf, type McpPeer, type OpenPeer } from '../../support/mcp-clients.ts'

// Short for these clients, as minutes are for others: each must come back, or get progress, several times.
const timings = { inlineHoldMs: 150, roundHoldMs: 150, progressMs: 50, taskAfterMs: 50, pollMs: 50 }
const { agent } = await useGatedAgent(timings)

async function using(open: OpenPeer, work: (peer: McpPeer) => Promise<void>, seen?: (m: string) => void) {
  const peer = await open(agent.url, agent.callerKey, seen)
  try {
    await work(peer)
  } finally {
    await peer.close()
  }
}

/** `enough` resolves when the client has sent so many requests for its call, or received so many progress notifications. */
function waitCounter(count: number): { seen(method: string): void; enough: Promise<void> } {
  let left = count
  let done = () => {}
  const enough = new Promise<void>((resolve) => (done = resolve))
  const waits = new Set(['tools/call', 'tasks/get', 'progress'])
  return { enough, seen: (method) => void (waits.has(method) && --left === 0 && done()) }
}

describe.each(Object.entries(allPeers))('%s', (_name, open) => {
  test('lists the tools, the agent and the built-in tools, in this order', () =>
    using(open, async (peer) => {
      const names = (await peer.list()).map((tool) => tool.name)
      expect(names).toEqual(['echo', 'fail', 'pay', 'teller', 'approval_wait', 'approval_cancel'])
    }))

  test('calls a tool and reads its text', () =>
    using(open, async (peer) => {
      const result = await peer.call('echo', { word: 'hi' })
      expect(result.isError ?? false).toBe(false)
      expect(textOf(result)).toBe('done: /echo {"word":"hi"}')
    }))

  test('gets a failing tool as a result with isError', () =>
    using(open, async (peer) => {
      const result = await peer.call('fail', { word: 'hi' })
      expect(result.isError).toBe(true)
      expect(textOf(result)).toContain('it broke')
    }))

  test('waits for a late approval, and the call runs once', async () => {
    const before = agent.paid()
    const { seen, enough } = waitCounter(4)
    await using(
      open,
      async (peer) => {
        const call = callThrough(peer, 'pay', { word: `late ${before}` })
        await enough
        expect(agent.paid()).toBe(before)
        await agent.decide()
        const result = await call
        expect(result.isError ?? false).toBe(false)
        expect(textOf(result)).toBe(`done: /pay {"word":"late ${before}"}`)
      },
      seen,
    )
    expect(agent.paid()).toBe(before + 1)
  })

  test('gets approval_rejected when a person rejects', async () => {
    const before = agent.paid()
    await using(open, async (peer) => {
      const call = callThrough(peer, 'pay', { word: `no ${before}` })
      await agent.decide('REJECT')
      const result = await call
      expect(result.isError).toBe(true)
      expect(textOf(result)).toContain('approval_rejected')
    })
    expect(agent.paid()).toBe(before)
  })

  test('talks to the agent', () =>
    using(open, async (peer) => {
      const result = await callThrough(peer, 'teller', { message: 'call echo {"word":"deep"}' })
      expect(textOf(result)).toContain('done: /echo')
    }))
})

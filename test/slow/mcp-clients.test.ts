/** Slow approvals: every client waits for an approval that is decided after 70 seconds, with the default timings. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { allPeers } from '../support/all-peers.ts'
import { makeGatedAgent, type GatedAgent } from '../support/gated-agent.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { callThrough, textOf } from '../support/mcp-clients.ts'

/** Longer than the 60 seconds after which clients give up without a response. */
const thinkingMs = 70_000

let h: Harness
let agent: GatedAgent

beforeAll(async () => {
  h = await openHarness()
  agent = await makeGatedAgent(h)
})
afterAll(async () => {
  await agent?.close()
  await h?.stop()
})

test('all of them get their result, and each call ran once', { timeout: 180_000 }, async () => {
  const names = Object.keys(allPeers)
  const calls = names.map(async (name) => {
    const peer = await allPeers[name]!(agent.url, agent.callerKey)
    const result = await callThrough(peer, 'pay', { word: name })
    await peer.close()
    return [name, result.isError ?? false, textOf(result)]
  })
  await new Promise((resolve) => setTimeout(resolve, thinkingMs))
  expect(agent.paid()).toBe(0)
  for (let left = names.length; left > 0; left--) await agent.decide()
  const told = names.map((name) => [name, false, `done: /pay ${JSON.stringify({ word: name })}`])
  expect(await Promise.all(calls)).toEqual(told)
  expect(agent.paid()).toBe(names.length)
})

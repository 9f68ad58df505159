/** Clients whose own time limit ends before a person decides: they cancel their request by themselves. */
import { ErrorCode } from '@modelcontextprotocol/sdk/types.js'
import { expect, test } from 'vitest'
import { defaultTimings } from '../../../src/api/mcp/http/mcp-runtime.ts'
import { useGatedAgent } from '../../support/gated-agent.ts'
import { connectV1, type McpResult } from '../../support/mcp-clients.ts'

const { h, agent } = await useGatedAgent({ inlineHoldMs: 20_000, progressHoldMs: 600, progressMs: 50 })

type Calls = (name: string, args: object, timeout: number, onprogress?: () => void) => Promise<McpResult>

/** The official client, in one session; each of its calls gives up after its own time. */
async function impatient(work: (calls: Calls) => Promise<void>): Promise<void> {
  const { client, leave } = await connectV1(agent.url, agent.callerKey)
  try {
    await work(async (name, args, timeout, onprogress) => {
      const options = { timeout, ...(onprogress ? { onprogress } : {}) }
      const params = { name, arguments: args as Record<string, unknown> }
      return (await client.callTool(params, undefined, options)) as McpResult
    })
  } finally {
    await leave()
  }
}

const givesUp = { code: ErrorCode.RequestTimeout }

const approvals = async (): Promise<{ status: string; arguments: unknown }[]> =>
  (await h.gql('{ approvals { nodes { status arguments } } }')).data['approvals'].nodes

test('a client that gives up and asks again has asked one person one question, and gets its result', () =>
  impatient(async (calls) => {
    const word = { word: 'patience' }
    for (let tries = 0; tries < 3; tries++)
      await expect(calls('pay', word, 800)).rejects.toMatchObject(givesUp)
    await expect.poll(approvals).toEqual([{ status: 'PENDING', arguments: word }])
    const last = calls('pay', word, 90_000)
    await agent.decide()
    expect((await last).content[0]!.text).toContain('done: /pay')
    expect(agent.paid()).toBe(1)
  }))

test('one whose limit ends after the verdict, while the call runs, finds its result', () =>
  impatient(async (calls) => {
    const word = { word: 'late' }
    const before = agent.paid()
    await expect(calls('pay', word, 800)).rejects.toMatchObject(givesUp)
    await agent.decide()
    expect((await calls('pay', word, 90_000)).content[0]!.text).toContain('done: /pay')
    expect(agent.paid()).toBe(before + 1)
  }))

test('one that asks for progress gets the pending result before its limit, which progress does not extend', () =>
  impatient(async (calls) => {
    expect(defaultTimings.progressHoldMs).toBeLessThan(60_000)
    let heard = 0
    const result = await calls('pay', { word: 'progress' }, 60_000, () => heard++)
    expect(result.structuredContent).toMatchObject({ status: 'pending_approval' })
    expect(heard).toBeGreaterThan(1)
    await agent.decide('REJECT')
  }))

test('a run that waits at the gate is not cancelled either', () =>
  impatient(async (calls) => {
    const message = 'call pay {"word":"run"}\nthen\nsay done'
    const before = agent.paid()
    await expect(calls('teller', { message }, 1500)).rejects.toMatchObject(givesUp)
    await agent.decide()
    const query = 'query($a: ID!) { generations(filter: { agentId: $a }, first: 1) { nodes { id } } }'
    const { data } = await h.gql(query, { a: agent.agentId })
    const ended = await h.until(data['generations'].nodes[0].id, ['CANCELLED', 'COMPLETED', 'FAILED'])
    expect(ended['status']).toBe('COMPLETED')
    expect(agent.paid()).toBe(before + 1)
  }))

test('what runs, and no gate has stopped, is cancelled', () =>
  impatient(async (calls) => {
    const message = 'slow 1s\nsay one two three four five six seven eight nine ten eleven twelve'
    await expect(calls('teller', { message }, 1000)).rejects.toMatchObject(givesUp)
    const query = 'query($a: ID!) { generations(filter: { agentId: $a }, first: 1) { nodes { id } } }'
    const { data } = await h.gql(query, { a: agent.agentId })
    const ended = await h.until(data['generations'].nodes[0].id, ['CANCELLED', 'COMPLETED', 'FAILED'])
    expect(ended['status']).toBe('CANCELLED')
  }))

/** An agent for MCP clients with a tool that works, one that fails and one that needs approval, and its approver. */
import type { McpTimings } from '../../src/api/mcp/http/mcp-runtime.ts'
import { forFile } from './for-file.ts'
import { openHarness, type Harness } from './harness.ts'
import { startLoopback, type Loopback } from './loopback.ts'
import { objectSchema } from './fixtures.ts'

export interface GatedAgent {
  upstream: Loopback
  url: string
  agentId: string
  tools: Record<'echo' | 'fail' | 'pay', string>
  /** The secret of a key that may call but not decide. */
  callerKey: string
  /** How many requests the upstream received for the gated tool. */
  paid(): number
  /** Decides the oldest pending approval as soon as there is one. */
  decide(verdict?: 'APPROVE' | 'REJECT'): Promise<Record<string, any>>
  close(): Promise<void>
}

/** A server with a gated agent, for all tests of a file. */
export async function useGatedAgent(mcp: Partial<McpTimings>): Promise<{ h: Harness; agent: GatedAgent }> {
  const h = await forFile(openHarness({}, { mcp }))
  return { h, agent: await forFile(makeGatedAgent(h)) }
}

export async function makeGatedAgent(h: Harness, settings: object = {}): Promise<GatedAgent> {
  const upstream = await startLoopback((request, response) => {
    const fails = request.url.startsWith('/fail')
    response
      .writeHead(fails ? 500 : 200, { 'content-type': 'text/plain' })
      .end(fails ? 'it broke' : `done: ${request.url} ${request.body}`)
  })
  const word = objectSchema({ word: { type: 'string' } }, ['word'])
  const make = async (name: string, more: object = {}) => {
    const config = { http: { url: `${upstream.url}/${name}`, method: 'POST', inputSchema: word } }
    return (await h.mutate('createTool', { name, config, ...more }, 'tool { id }'))['tool'].id as string
  }
  const tools = {
    echo: await make('echo', { title: 'Echo', annotations: { readOnlyHint: true } }),
    fail: await make('fail'),
    pay: await make('pay', { gate: { autoApprove: false } }),
  }
  const input = { name: 'teller', toolIds: Object.values(tools), mcp: { enabled: true }, ...settings }
  const made = await h.mutate('createAgent', input, 'agent { id }')
  const agentId = made['agent'].id as string
  const caller = await h.mutate('createApiKey', { name: 'caller', role: 'CALLER' }, 'secret')
  return {
    upstream,
    agentId,
    tools,
    url: `${h.url}/mcp/${agentId}`,
    callerKey: caller['secret'],
    paid: () => upstream.seen.filter((request) => request.url === '/pay').length,
    decide: (verdict = 'APPROVE') => decide(h, tools.pay, verdict),
    close: () => upstream.close(),
  }
}

async function decide(h: Harness, toolId: string, verdict: string): Promise<Record<string, any>> {
  const pending = async () => {
    const listed = await h.gql(
      'query($t: ID!) { approvals(filter: { toolId: $t, statuses: [PENDING] }) { nodes { id } } }',
      {
        t: toolId,
      },
    )
    return listed.data['approvals'].nodes[0]?.id as string | undefined
  }
  const id = (await pending()) ?? (await nextPending(h, pending))
  return h.mutate('decideApproval', { approvalId: id, verdict }, 'approval { id status }')
}

/** Waits for an approval that is pending, by the events of those that were and will be requested. */
function nextPending(h: Harness, pending: () => Promise<string | undefined>): Promise<string> {
  const query = 'subscription { projectEvents(after: "0", types: [APPROVAL_REQUESTED]) { type } }'
  return new Promise((resolve, reject) => {
    let checking: Promise<unknown> = Promise.resolve()
    let isFound = false
    const check = async () => {
      // What follows an event that came meanwhile: the server may be gone by then.
      const id = isFound ? undefined : await pending()
      if (!id) return
      isFound = true
      resolve((stop(), id))
    }
    const stop = h.client().subscribe(
      { query },
      {
        next: () => void (checking = checking.then(check).catch(reject)),
        error: reject,
        complete: () => {},
      },
    )
  })
}

/** A caller's trace context reaches tools, upstreams and webhooks, also over a pause; no SDK is loaded here. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseKinds } from '../support/databases.ts'
import { openDeployment, type Deployment } from '../support/deployment.ts'
import { objectSchema } from '../support/fixtures.ts'
import { adminKey, type Harness } from '../support/harness.ts'
import { modernRpc } from '../support/mcp-wire.ts'
import { mutationText } from '../support/ask.ts'
import { startModern, type ModernServer } from '../support/upstream-servers.ts'
import { openReceiver, type Receiver } from '../support/webhook-receiver.ts'

const traceOf = (n: number) => `00-${String(n).padStart(32, 'a')}-00f067aa0ba902b7-01`
const state = 'vendor=one,other=two'

describe.each(databaseKinds)('on %s', (kind) => {
  let d: Deployment
  let h: Harness
  let server: ModernServer
  let receiver: Receiver
  beforeAll(async () => {
    d = await openDeployment(kind)
    h = d.replicas[0]!
    server = await startModern()
    server.tools.set('say', {
      tool: { name: 'say' },
      run: () => ({ content: [{ type: 'text', text: 'said' }] }),
    })
    receiver = await openReceiver()
    const made = await h.mutate('createWebhook', { url: receiver.url }, 'secret')
    receiver.secret = made['secret']
  })
  afterAll(async () => {
    await receiver?.close()
    await server?.kill()
    await d?.close()
  })

  /** Runs a mutation with these headers over GraphQL. */
  async function traced(name: string, input: object, fields: string, headers: Record<string, string>) {
    const response = await fetch(`${h.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${adminKey}`, ...headers },
      body: JSON.stringify({ query: mutationText(name, fields), variables: { input } }),
    })
    const { data } = (await response.json()) as { data: Record<string, Record<string, any>> }
    return data[name]!
  }

  const sentTo = (path: string) =>
    d.fixtures.upstream.seen.filter(({ url }) => url.startsWith(path)).map(({ headers }) => headers)

  test('a direct call passes the context of its request on to an http tool', async () => {
    const call = { toolId: d.fixtures.tools.look, arguments: { word: 'direct' } }
    const headers = { traceparent: traceOf(1), tracestate: state }
    await traced('callTool', call, 'toolCall { status }', headers)
    expect(sentTo('/look/direct')).toMatchObject([{ traceparent: traceOf(1), tracestate: state }])
  })

  test('what is no valid context reaches no tool', async () => {
    const call = { toolId: d.fixtures.tools.look, arguments: { word: 'invalid' } }
    const headers = {
      traceparent: `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
      tracestate: state,
      baggage: 'a=b',
    }
    await traced('callTool', call, 'toolCall { status }', headers)
    const [sent] = sentTo('/look/invalid')
    expect(Object.keys(sent!).filter((name) => /trace|baggage/.test(name))).toEqual([])
  })

  test('a tool with a header of that name keeps its own', async () => {
    const config = {
      http: {
        url: `${d.fixtures.upstream.url}/own`,
        headers: { Traceparent: 'mine' },
        inputSchema: objectSchema({}),
      },
    }
    const { tool } = await h.mutate('createTool', { name: 'own', config }, 'tool { id }')
    const headers = { traceparent: traceOf(2) }
    await traced('callTool', { toolId: tool.id, arguments: {} }, 'toolCall { status }', headers)
    expect(sentTo('/own')).toMatchObject([{ traceparent: 'mine' }])
  })

  test('a run passes it on before and after the pause of its gate, and webhooks have it', async () => {
    const { agentId } = await d.payer({ autoApprove: false })
    const run = { agentId, prompt: 'call pay {"n":"1"}\nsay done' }
    const headers = { traceparent: traceOf(3), tracestate: state }
    const { generation } = await traced('startGeneration', run, 'generation { id }', headers)
    const waiting = await h.until(generation.id, ['AWAITING_APPROVAL'], 'requiredAction { approvals { id } }')
    const [{ id: approvalId }] = waiting['requiredAction'].approvals
    // The verdict has a context of its own, which is not the run's.
    const verdict = { approvalId, verdict: 'APPROVE' }
    await traced('decideApproval', verdict, 'approval { id }', { traceparent: traceOf(99) })
    await h.until(generation.id, ['COMPLETED'])
    expect(sentTo('/pay').at(-1)).toMatchObject({ traceparent: traceOf(3), tracestate: state })
    const ofRun = () => receiver.received.filter(({ data }) => data['generationId'] === generation.id)
    await receiver.until(() => ofRun().some(({ type }) => type === 'generation.completed'))
    for (const { headers: got } of ofRun())
      expect(got).toMatchObject({ traceparent: traceOf(3), tracestate: state })
  })

  test('a gated call over MCP has the context of its _meta after the verdict, not that of HTTP', async () => {
    const inputSchema = objectSchema({ n: { type: 'string' } }, ['n'])
    const http = { url: `${d.fixtures.upstream.url}/gated`, inputSchema }
    const gated = { name: 'gated', gate: { autoApprove: false }, config: { http } }
    const { tool } = await h.mutate('createTool', gated, 'tool { id }')
    const agentId = await d.fixtures.agent({ toolIds: [tool.id], mcp: { enabled: true } })
    const _meta = { traceparent: traceOf(4), tracestate: state }
    const url = `${h.url}/mcp/${agentId}`
    const answer = modernRpc(url, adminKey, 'tools/call', { name: 'gated', arguments: { n: '1' }, _meta })
    const pending = async () => {
      const query =
        'query($t: ID!) { approvals(filter: { toolId: $t, statuses: [PENDING] }) { nodes { id } } }'
      return (await h.gql(query, { t: tool.id })).data['approvals'].nodes[0]?.id
    }
    await expect.poll(pending).toBeDefined()
    await h.mutate('decideApproval', { approvalId: await pending(), verdict: 'APPROVE' }, 'approval { id }')
    await answer
    await expect.poll(() => sentTo('/gated')).toMatchObject([{ traceparent: traceOf(4), tracestate: state }])
  })

  test('an upstream gets it in _meta', async () => {
    const config = { mcp: { url: server.url } }
    const { tool } = await h.mutate('createTool', { name: 'modern', config }, 'tool { id }')
    const call = { toolId: tool.id, action: 'say', arguments: {} }
    await traced('callTool', call, 'toolCall { status }', { traceparent: traceOf(5), tracestate: state })
    const sent = server.seen.find(({ method }) => method === 'tools/call')
    expect(sent!.params._meta).toMatchObject({ traceparent: traceOf(5), tracestate: state })
  })

  test('a child run is in the trace of its parent', async () => {
    const child = await d.fixtures.agent({ name: `child_${kind}` })
    const parent = await d.fixtures.agent({ toolIds: [], agentIds: [child] })
    const prompt = `call child_${kind} {"message":"call look {\\"word\\":\\"nested\\"}\\nsay done"}\nsay done`
    const { generation } = await traced('startGeneration', { agentId: parent, prompt }, 'generation { id }', {
      traceparent: traceOf(6),
    })
    await h.until(generation.id, ['COMPLETED'])
    expect(sentTo('/look/nested')).toMatchObject([{ traceparent: traceOf(6) }])
  })
})

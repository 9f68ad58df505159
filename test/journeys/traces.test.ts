/** The spans of a server that was started with telemetry.mjs of the guide, as a collector receives them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { read } from '../docs/documents.ts'
import { ask, mutate, mutationText } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import { databaseKinds, embeddedDatabase, postgresDatabase } from '../support/databases.ts'
import { objectSchema } from '../support/fixtures.ts'
import { type Loopback, startLoopback } from '../support/loopback.ts'
import { modernProtocol, modernRpc } from '../support/mcp-wire.ts'
import { describeWithPeers, peerFile } from '../support/peers.ts'
import { type Replica, startReplica } from '../support/replica.ts'
import { openReceiver, type Receiver } from '../support/webhook-receiver.ts'

/** A collector of OpenTelemetry on loopback: keeps the spans that are sent to it as JSON. */
interface ReceivedSpan {
  name: string
  /** 1 internal, 2 server, 3 client. */
  kind: number
  traceId: string
  spanId: string
  parentSpanId: string
  links: { traceId: string; spanId: string }[]
  attributes: Record<string, unknown>
  failed: boolean
}

interface OtlpReceiver {
  url: string
  spans(): ReceivedSpan[]
  /** Every byte that arrived. */
  raw(): string
  close(): Promise<void>
}

interface WireValue {
  stringValue?: string
  intValue?: number
  doubleValue?: number
  arrayValue?: unknown
}

interface WireSpan extends Omit<ReceivedSpan, 'attributes' | 'failed' | 'links' | 'parentSpanId'> {
  parentSpanId?: string
  links?: ReceivedSpan['links']
  attributes: { key: string; value: WireValue }[]
  status?: { code?: number }
}

interface Payload {
  resourceSpans: { scopeSpans: { spans: WireSpan[] }[] }[]
}

async function openOtlpReceiver(): Promise<OtlpReceiver> {
  const server = await startLoopback((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  const arrived = () =>
    server.seen.filter(
      ({ url, headers }) => url === '/v1/traces' && headers['content-type'] === 'application/json',
    )
  return {
    url: server.url,
    spans: () =>
      arrived()
        .flatMap(({ body }) => (JSON.parse(body) as Payload).resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
        .map(({ attributes, status, links = [], parentSpanId = '', ...span }) => ({
          ...span,
          parentSpanId,
          links,
          failed: status?.code === 2,
          attributes: Object.fromEntries(
            attributes.map(({ key, value }) => [
              key,
              value.stringValue ?? value.intValue ?? value.doubleValue ?? value.arrayValue,
            ]),
          ),
        })),
    raw: () =>
      arrived()
        .map(({ body }) => body)
        .join('\n'),
    close: () => server.close(),
  }
}

const key = 'gh_test_traces_0123456789012345678901234567890123456'
const [callerTrace, callerSpan] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
const [httpTrace, httpSpan] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']
const caller = `00-${callerTrace}-${callerSpan}-01`

describeWithPeers.each(databaseKinds)('on %s', (kind) => {
  let collector: OtlpReceiver
  let service: Loopback
  let hooks: Receiver
  let server: Replica
  let dataDir: string
  let program: string
  let drop: (() => Promise<void>) | null = null

  beforeAll(async () => {
    const [, code] = /`telemetry\.mjs`:[\s\S]*?```js\n([\s\S]*?)```/.exec(
      read('docs/guides/observability.md'),
    )!
    program = peerFile(`node_modules/.telemetry-${kind}.mjs`)
    await writeFile(program, code!)
    collector = await openOtlpReceiver()
    service = await startLoopback((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('canary-result')
    })
    hooks = await openReceiver()
    dataDir = await mkdtemp(join(tmpdir(), 'traces-'))
    const database = kind === 'PostgreSQL' ? await postgresDatabase() : null
    drop = database && (() => database.drop())
    if (!database) await embeddedDatabase(dataDir)
    const { entry } = await buildServer()
    server = startReplica(
      entry,
      {
        ...(database ? { DATABASE_URL: database.url } : {}),
        GATEHOUSE_DATA_DIR: dataDir,
        GATEHOUSE_PORT: '0',
        GATEHOUSE_DEMO: 'false',
        GATEHOUSE_ADMIN_KEY: key,
        GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
        GATEHOUSE_EGRESS_ALLOW: `${service.address},${new URL(hooks.url).host}`,
        GATEHOUSE_LOG_LEVEL: 'error',
        GATEHOUSE_DRAIN_MS: '0',
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_BSP_SCHEDULE_DELAY: '50',
      },
      ['--import', program],
    )
    await server.ready
  })
  afterAll(async () => {
    await server?.stop()
    await Promise.all([collector?.close(), service?.close(), hooks?.close(), drop?.()])
    await rm(program, { force: true })
    await rm(dataDir, { recursive: true, force: true })
  })

  const change = (name: string, input: object, fields: string) => mutate(server.url, key, name, input, fields)

  async function makeTool(name: string, more: object = {}): Promise<string> {
    const http = {
      url: `${service.url}/${name}`,
      headers: { authorization: 'Bearer {{secret:TOKEN}}' },
      inputSchema: objectSchema({ word: { type: 'string' } }, ['word']),
    }
    return (await change('createTool', { name, config: { http }, ...more }, 'tool { id }'))['tool'].id
  }

  /** The span with this name in this trace, or any, once it has arrived. */
  async function span(name: string, which: (span: ReceivedSpan) => boolean = () => true) {
    const found = () => collector.spans().find((one) => one.name === name && which(one))
    await expect.poll(found, { message: name }).toBeDefined()
    return found()!
  }

  test('a gated run is two traces with a link, and each request of it has its place', async () => {
    await change('setSecret', { name: 'TOKEN', value: 'canary-secret' }, '__typename')
    await change('createWebhook', { url: hooks.url }, 'webhook { id }')
    const toolId = await makeTool('pay', { gate: { autoApprove: false } })
    const { agent } = await change('createAgent', { name: 'clerk', toolIds: [toolId] }, 'agent { id }')
    const prompt = 'call pay {"word":"canary-argument"}\nsay canary-answer'
    const input = { agentId: agent.id, prompt, idempotencyKey: 'canary-key' }
    const started = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, traceparent: caller },
      body: JSON.stringify({
        query: mutationText('startGeneration', 'generation { id }'),
        variables: { input },
      }),
    })
    const { data } = (await started.json()) as { data: Record<string, any> }
    const generationId = data['startGeneration'].generation.id as string
    const ofRun = (one: ReceivedSpan) => one.attributes['gatehouse.generation.id'] === generationId
    const activations = (number: number) => (one: ReceivedSpan) =>
      ofRun(one) && one.attributes['gatehouse.activation'] === number
    const first = await span('invoke_agent clerk', activations(1))
    expect(first).toMatchObject({ kind: 1, traceId: callerTrace, parentSpanId: callerSpan, links: [] })
    expect(first.attributes).toMatchObject({
      'gen_ai.agent.id': agent.id,
      'gen_ai.agent.name': 'clerk',
      'gatehouse.outcome': 'parked',
    })
    const asked = await ask(
      server.url,
      key,
      'query($id: ID!) { generation(id: $id) { requiredAction { approvals { id } } } }',
      { id: generationId },
    )
    const approvalId = asked.data['generation'].requiredAction.approvals[0].id as string
    await change('decideApproval', { approvalId, verdict: 'APPROVE' }, 'approval { id }')
    const second = await span('invoke_agent clerk', activations(2))
    expect(second).toMatchObject({
      parentSpanId: '',
      links: [{ traceId: callerTrace, spanId: first.spanId }],
      failed: false,
    })
    expect(second.traceId).not.toBe(callerTrace)
    expect(second.attributes).toMatchObject({
      'gatehouse.approval.id': approvalId,
      'gatehouse.approval.verdict': 'APPROVED',
      'gatehouse.outcome': 'completed',
    })
    expect(second.attributes['gatehouse.approval.wait_ms']).toBeGreaterThan(0)
    const pay = await span('execute_tool pay')
    expect(pay).toMatchObject({ kind: 1, traceId: second.traceId, parentSpanId: second.spanId })
    expect(pay.attributes).toMatchObject({ 'gatehouse.approval.id': approvalId, 'gen_ai.tool.name': 'pay' })
    const sent = service.seen.find(({ url }) => url === '/pay')!
    expect(sent.headers['authorization']).toBe('Bearer canary-secret')
    expect(sent.headers['traceparent']).toBe(`00-${pay.traceId}-${pay.spanId}-01`)
    const chats = collector.spans().filter((one) => one.name.startsWith('chat ') && ofRun(one))
    expect(chats.map(({ kind: is, parentSpanId }) => [is, parentSpanId])).toEqual([
      [3, first.spanId],
      [3, second.spanId],
    ])
    expect(chats[0]!.attributes['gen_ai.usage.input_tokens']).toBeGreaterThan(0)
    await hooks.until((got) => got.some(({ type }) => type === 'generation.completed'))
    const told = hooks.received.find(({ type }) => type === 'generation.completed')!
    expect(told.headers['traceparent']).toBe(`00-${second.traceId}-${second.spanId}-01`)
  })

  test('a call over MCP is a server span below its _meta, linked to its HTTP request', async () => {
    const toolId = await makeTool('look')
    const made = await change(
      'createAgent',
      { name: 'desk', toolIds: [toolId], mcp: { enabled: true } },
      'agent { id }',
    )
    const params = { name: 'look', arguments: { word: 'canary-argument' }, _meta: { traceparent: caller } }
    const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params }
    const url = `${server.url}/mcp/${made['agent'].id}`
    await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${key}`,
        traceparent: `00-${httpTrace}-${httpSpan}-01`,
      },
      body: JSON.stringify(message),
    }).then((response) => response.text())
    const served = await span('tools/call look')
    expect(served).toMatchObject({
      kind: 2,
      traceId: callerTrace,
      parentSpanId: callerSpan,
      links: [{ traceId: httpTrace, spanId: httpSpan }],
    })
    const executed = await span('execute_tool look')
    expect(executed).toMatchObject({ traceId: callerTrace, parentSpanId: served.spanId })
    const sent = service.seen.find(({ url: path }) => path === '/look')!
    expect(sent.headers['traceparent']).toBe(`00-${callerTrace}-${executed.spanId}-01`)
    // A modern client, without a context of its own.
    await modernRpc(url, key, 'tools/call', { name: 'look', arguments: { word: 'x' } })
    const modern = await span('tools/call look', (one) => one.parentSpanId === '')
    expect(modern.attributes).toMatchObject({
      'mcp.protocol.version': modernProtocol,
      'jsonrpc.request.id': '7',
    })
  })

  test('a gated direct call is a trace of its own after the verdict, linked to its request', async () => {
    const toolId = await makeTool('gated', { gate: { autoApprove: false } })
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, traceparent: caller },
      body: JSON.stringify({
        query: mutationText('callTool', 'toolCall { id approval { id } }'),
        variables: { input: { toolId, arguments: { word: 'canary-argument' } } },
      }),
    })
    const { data } = (await response.json()) as { data: Record<string, any> }
    const approvalId = data['callTool'].toolCall.approval.id as string
    await change('decideApproval', { approvalId, verdict: 'APPROVE' }, 'approval { id }')
    const executed = await span('execute_tool gated')
    expect(executed).toMatchObject({
      parentSpanId: '',
      links: [{ traceId: callerTrace, spanId: callerSpan }],
    })
    expect(executed.attributes).toMatchObject({ 'gatehouse.approval.id': approvalId })
  })

  test('no span has arguments, results, texts, secrets or idempotency keys', () => {
    expect(collector.spans().length).toBeGreaterThan(8)
    expect(collector.raw()).not.toContain('canary')
  })
})

/** Measures the time from a verdict to the request of the tool, and lists with 100,000 pending approvals. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import postgres from 'postgres'
import { openServer, type BenchServer } from './server.ts'
import { inLanes, ms, percentile, show } from './table.ts'

const pace = 50
const verdicts = 500
const pendingRows = 100_000

/** A service that records when each call arrives, by its Idempotency-Key. */
async function startService() {
  const arrived = new Map<string, number>()
  const server = createServer((request, response) => {
    arrived.set(String(request.headers['idempotency-key']), performance.now())
    request.resume().on('end', () => response.end('ok'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { arrived, address: `127.0.0.1:${port}`, close: () => server.close() }
}

async function gatedAgent(services: BenchServer, address: string): Promise<string> {
  const config = { http: { url: `http://${address}/pay`, inputSchema: { type: 'object' } } }
  const { createTool } = await services.gql(
    'mutation($i: CreateToolInput!) { createTool(input: $i) { ... on CreateToolPayload { tool { id } } ... on Error { message } } }',
    { i: { name: 'pay', gate: { autoApprove: false, timeoutSeconds: 3600 }, config } },
  )
  const { createAgent } = await services.gql(
    'mutation($i: CreateAgentInput!) { createAgent(input: $i) { ... on CreateAgentPayload { agent { id } } } }',
    { i: { name: 'bench', toolIds: [createTool.tool.id] } },
  )
  return createAgent.agent.id as string
}

const inbox =
  '{ approvals(status: PENDING, first: 50) { nodes { id expiresAt arguments toolCall { id } } pageInfo { endCursor } } }'

/** All pending approvals, oldest first. */
async function waitingCalls(sql: postgres.Sql) {
  return sql<
    { id: string; call: string }[]
  >`select id, tool_call_id as call from approvals where status = 'PENDING' order by created_at`
}

async function measureDispatch(): Promise<void> {
  const service = await startService()
  const services = await openServer('postgres', service.address)
  const sql = postgres(services.databaseUrl!, { max: 1, onnotice: () => {} })
  const agentId = await gatedAgent(services, service.address)
  const start = `mutation($i: StartGenerationInput!) { startGeneration(input: $i) { ... on Error { message } } }`
  await inLanes(verdicts, 16, () =>
    services.gql(start, { i: { agentId, prompt: 'call pay {}\nthen\nsay done' } }),
  )
  let waiting = await waitingCalls(sql)
  while (waiting.length < verdicts) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    waiting = await waitingCalls(sql)
  }
  const decide = `mutation($i: DecideApprovalInput!) { decideApproval(input: $i) { __typename } }`
  const asked = new Map<string, number>()
  const answered: number[] = []
  await Promise.all(
    waiting.map(async ({ id, call }, i) => {
      await new Promise((resolve) => setTimeout(resolve, (i * 1000) / pace))
      asked.set(call, performance.now())
      await services.gql(decide, { i: { approvalId: id, verdict: 'APPROVE' } })
      answered.push(performance.now() - asked.get(call)!)
    }),
  )
  while (service.arrived.size < verdicts) await new Promise((resolve) => setTimeout(resolve, 50))
  const times = [...asked].map(([call, at]) => service.arrived.get(call)! - at)
  show(`From the mutation to the upstream's socket, ${verdicts} verdicts at ${pace} a second, PostgreSQL`, [
    {
      'verdict answered p50 ms': ms(percentile(answered, 0.5)),
      'dispatched p50 ms': ms(percentile(times, 0.5)),
      'dispatched p99 ms': ms(percentile(times, 0.99)),
    },
  ])
  await sql.end()
  await services.close()
  service.close()
}

async function fill(sql: postgres.Sql): Promise<void> {
  await sql`insert into approvals (id, project_id, generation_id, tool_call_id, tool_id, tool_version, runtime_name, arguments,
      digest, requested_by, requirement, on_approve, expires_at, wake_at, created_at)
    select 'apr_' || lpad(n::text, 24, '0'), (select id from projects limit 1), 'gen_' || n, 'call_' || n, 'tool_none', 1, 'pay', '{"amount":5}',
      'digest', 'key_none', '{"timeoutSeconds":3600,"quorum":1,"excludeRequester":false,"approvers":[],"escalateAfterSeconds":null}',
      'RUN', now() + interval '1 hour', now() + interval '1 hour', now() - n * interval '1 millisecond'
    from generate_series(1, ${pendingRows}) n`
  await sql`analyze approvals`
}

async function timeOf(work: () => Promise<unknown>): Promise<string> {
  const times: number[] = []
  for (let i = 0; i < 220; i++) {
    const began = performance.now()
    await work()
    if (i >= 20) times.push(performance.now() - began)
  }
  return `${ms(percentile(times, 0.5))} / ${ms(percentile(times, 0.99))}`
}

async function measureInbox(services: BenchServer, sql: postgres.Sql, pending: number) {
  const sweep = () =>
    sql`select id from approvals where wake_at <= now() and status = 'PENDING' order by wake_at limit 500`
  const cpu = process.cpuUsage()
  const idleMs = 3000
  await new Promise((resolve) => setTimeout(resolve, idleMs))
  const idle = process.cpuUsage(cpu)
  return {
    pending,
    'inbox of 50': await timeOf(() => services.gql(inbox)),
    counts: await timeOf(() => services.gql('{ approvalCounts { pending approved rejected expired } }')),
    'look for deadlines': await timeOf(sweep),
    'idle CPU %': ms(((idle.user + idle.system) / 1000 / idleMs) * 100),
    'memory MB': Math.round(process.memoryUsage().rss / 1e6),
  }
}

export async function measureGate(): Promise<void> {
  await measureDispatch()
  const services = await openServer('postgres')
  const sql = postgres(services.databaseUrl!, { max: 1, onnotice: () => {} })
  const empty = await measureInbox(services, sql, 0)
  await fill(sql)
  const full = await measureInbox(services, sql, pendingRows)
  await sql.end()
  await services.close()
  show('An inbox that grows: p50 / p99 in ms', [empty, full])
}

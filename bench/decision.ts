/** Measures the time from a verdict to the request of the tool, in commits of the limit. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import postgres from 'postgres'
import { betweenLimits, commitsOfUnit } from './limit.ts'
import { report } from './report.ts'
import { openServer, type BenchServer } from './server.ts'
import { inLanes, pause, percentile } from './statistics.ts'

const pace = 50
/** The first ones run code that the engine has not compiled yet: they are given and not measured. */
const warmUp = 750
const measured = 500
const verdicts = warmUp + measured

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

/** Creates an agent whose calls of a service at this address wait for a person, and returns its id. */
export async function gatedAgent(server: BenchServer, address: string): Promise<string> {
  const config = { http: { url: `http://${address}/pay`, inputSchema: { type: 'object' } } }
  const { createTool } = await server.gql(
    'mutation($i: CreateToolInput!) { createTool(input: $i) { ... on ToolPayload { tool { id } } ... on Error { message } } }',
    { i: { name: 'pay', gate: { autoApprove: false, timeoutSeconds: 3600 }, config } },
  )
  const { createAgent } = await server.gql(
    'mutation($i: CreateAgentInput!) { createAgent(input: $i) { ... on AgentPayload { agent { id } } } }',
    { i: { name: 'bench', toolIds: [createTool.tool.id] } },
  )
  return createAgent.agent.id as string
}

/** All pending approvals, oldest first. */
async function waitingCalls(sql: postgres.Sql) {
  return sql<
    { id: string; call: string }[]
  >`select id, tool_call_id as call from approvals where status = 'PENDING' order by created_at`
}

async function dispatchTimes(): Promise<{ answered: number[]; dispatched: number[] }> {
  const service = await startService()
  const server = await openServer('postgres', { upstream: service.address })
  const sql = postgres(server.databaseUrl!, { max: 1, onnotice: () => {} })
  const agentId = await gatedAgent(server, service.address)
  const start = `mutation($i: StartGenerationInput!) { startGeneration(input: $i) { ... on Error { message } } }`
  await inLanes(verdicts, 16, () =>
    server.gql(start, { i: { agentId, prompt: 'call pay {}\nthen\nsay done' } }),
  )
  let waiting = await waitingCalls(sql)
  while (waiting.length < verdicts) {
    await pause(100)
    waiting = await waitingCalls(sql)
  }
  const decide = `mutation($i: DecideApprovalInput!) { decideApproval(input: $i) { __typename } }`
  const asked = new Map<string, number>()
  const answered: number[] = []
  await Promise.all(
    waiting.map(async ({ id, call }, i) => {
      await pause((i * 1000) / pace)
      asked.set(call, performance.now())
      await server.gql(decide, { i: { approvalId: id, verdict: 'APPROVE' } })
      if (i >= warmUp) answered.push(performance.now() - asked.get(call)!)
    }),
  )
  while (service.arrived.size < verdicts) await pause(50)
  const dispatched = [...asked].slice(warmUp).map(([call, at]) => service.arrived.get(call)! - at)
  await sql.end()
  await server.close()
  service.close()
  return { answered, dispatched }
}

export async function measureDecision(): Promise<void> {
  const { limit, result } = await betweenLimits('postgres', dispatchTimes)
  const commitMs = limit.unitMs / commitsOfUnit
  const [p50, p99] = [percentile(result.dispatched, 0.5), percentile(result.dispatched, 0.99)]
  report(
    'decision',
    `From the mutation to the tool's socket, ${measured} verdicts at ${pace} a second, PostgreSQL`,
    [
      {
        case: 'dispatched',
        figures: {
          'p50 ms': p50,
          'p99 ms': p99,
          'limit commit ms': commitMs,
          'p50 in commits': p50 / commitMs,
          'p99 in commits': p99 / commitMs,
          'verdict answered p50 ms': percentile(result.answered, 0.5),
        },
      },
    ],
  )
}

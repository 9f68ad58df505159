/** The project on which tasks are done: 3,000 runs, 300 waiting requests, 43 tools, 13 agents and 6 upstreams. */
import postgres from 'postgres'
import { mutationText } from '../../test/support/ask.ts'
import { startLoopback } from '../../test/support/loopback.ts'
import { startModern } from '../../test/support/upstream-servers.ts'
import { fill } from '../page-size.ts'
import { openServer, type BenchServer } from '../server.ts'
import { inLanes } from '../statistics.ts'

const runs = 3_000
/** The copies of a run stand this many seconds apart: 144 of them are of one day. */
const apart = 600
const upstreams = 6
const httpTools = 37
const agents = 13
const refunds = 240
const cancellations = 38
const mails = 22

/** The reason that the cancellations have in common. */
export const sharedReason = 'customer moved'
/** The tool that failed yesterday, and the upstream whose tool gets a gate. */
export const failingTool = 'check_stock'
export const upstreamName = 'store_1'

export interface Ground {
  server: BenchServer
  /** An agent whose runs end by themselves. */
  agentId: string
  refundId: string
  /** Runs whose call of the failing tool failed yesterday, by the clock of the browser. */
  failedYesterday: number
  close(): Promise<void>
}

const text = { type: 'string' }
const schemaOf = (properties: object) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
})
const always = { mode: 'ALWAYS', timeoutSeconds: 86_400 }
const gated: Record<string, { gate: object; inputSchema: object }> = {
  send_refund: {
    gate: {
      mode: 'WHEN',
      when: { properties: { amount: { exclusiveMinimum: 100 } }, required: ['amount'] },
      timeoutSeconds: 86_400,
    },
    inputSchema: schemaOf({ order_id: text, amount: { type: 'number' } }),
  },
  cancel_order: { gate: always, inputSchema: schemaOf({ order_id: text, reason: text }) },
  send_mail: { gate: always, inputSchema: schemaOf({ to: text }) },
}

/** Runs a mutation and returns what it made. Throws what the server refuses. */
async function make(server: BenchServer, name: string, input: object, fields: string): Promise<any> {
  const answer = (await server.gql(mutationText(name, fields), { input }))[name]
  if (answer.message) throw new Error(`${name}: ${answer.message}`)
  return answer
}

async function makeTools(
  server: BenchServer,
  url: string,
  addresses: string[],
): Promise<Map<string, string>> {
  const ids = new Map<string, string>()
  const create = async (name: string, more: object) => {
    const { tool } = await make(server, 'createTool', { name, ...more }, 'tool { id }')
    ids.set(name, tool.id as string)
  }
  for (const [name, { gate, inputSchema }] of Object.entries(gated))
    await create(name, { gate, config: { http: { url: `${url}/${name}`, method: 'POST', inputSchema } } })
  const inputSchema = schemaOf({ word: text })
  const rest = [failingTool, ...Array.from({ length: httpTools - 4 }, (_, n) => `look_up_${n + 1}`)]
  for (const name of rest)
    await create(name, { config: { http: { url: `${url}/${name}`, method: 'POST', inputSchema } } })
  for (const [at, address] of addresses.entries()) {
    const name = `store_${at + 1}`
    await create(name, { config: { mcp: { url: address } } })
    await make(server, 'refreshUpstream', { toolId: ids.get(name) }, '__typename')
  }
  return ids
}

async function makeAgents(server: BenchServer, toolIds: string[]): Promise<string> {
  const names = ['support', ...Array.from({ length: agents - 1 }, (_, n) => `clerk_${n + 1}`)]
  const made = []
  for (const name of names) {
    const input = { name, instructions: 'Be kind.', toolIds }
    const { agent } = await make(server, 'createAgent', input, 'agent { id }')
    made.push(agent.id as string)
  }
  return made[0]!
}

/** Runs it and resolves with its id when it has ended. */
export async function runToEnd(server: BenchServer, agentId: string, prompt: string): Promise<string> {
  const input = { agentId, prompt }
  const fields = 'generation { id }'
  const { generation } = await make(server, 'startGeneration', input, fields)
  const query = 'query($id: ID!) { generation(id: $id) { status } }'
  for (;;) {
    const { generation: now } = await server.gql(query, { id: generation.id })
    if (['COMPLETED', 'FAILED'].includes(now.status)) return generation.id as string
  }
}

/** Calls the tool so many times. */
async function callMany(
  server: BenchServer,
  toolId: string,
  count: number,
  argumentsOf: (n: number) => object,
) {
  let n = 0
  await inLanes(count, 8, async () => {
    const input = { toolId, arguments: argumentsOf(n++) }
    await make(server, 'callTool', input, 'toolCall { id }')
  })
}

/** The call of the failing tool in every twelfth of the copies. Resolves with how many of them are of yesterday. */
async function failCalls(databaseUrl: string, runId: string): Promise<number> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  await sql`insert into tool_calls select (jsonb_populate_record(c, jsonb_build_object(
      'id', 'call_f' || right(g.id, 23), 'generation_id', g.id, 'created_at', g.created_at))).*
    from tool_calls as c, generations as g
    where c.generation_id = ${runId} and g.id ~ '^gen_0+[0-9]+$' and right(g.id, 4)::int % 12 = 0`
  const today = new Date(new Date().setHours(0, 0, 0, 0))
  const yesterday = new Date(new Date(today).setDate(today.getDate() - 1))
  const [row] = await sql<{ count: number }[]>`select count(*)::int from tool_calls
    where id like 'call_f%' and created_at >= ${yesterday} and created_at < ${today}`
  await sql`vacuum (analyze) generations, tool_calls`
  await sql.end()
  return row!.count
}

async function populate(server: BenchServer, url: string, addresses: string[], waiting: number) {
  const tools = await makeTools(server, url, addresses)
  const idOf = (name: string) => tools.get(name)!
  const agentId = await makeAgents(server, [idOf('send_refund'), idOf(failingTool)])
  await callMany(server, idOf('send_refund'), 60, (n) => ({ order_id: `P-${n}`, amount: n + 1 }))
  await callMany(server, idOf('send_refund'), refunds, (n) => ({ order_id: `M-${n}`, amount: 101 + n }))
  const reason = sharedReason
  await callMany(server, idOf('cancel_order'), cancellations, (n) => ({ order_id: `C-${n}`, reason }))
  await callMany(server, idOf('send_mail'), mails, (n) => ({ to: `user-${n}` }))
  const failing = await runToEnd(
    server,
    agentId,
    `call ${failingTool} {"word":"x"}\nthen\nsay it did not work`,
  )
  const { approvals } = await server.gql('{ approvals(first: 1) { nodes { id } } }')
  const approvalId = approvals.nodes[0].id as string
  await fill(server.databaseUrl!, { runId: failing, runs, approvalId, questions: waiting - 300, apart })
  const failedYesterday = await failCalls(server.databaseUrl!, failing)
  await runToEnd(server, agentId, 'fail 400')
  await runToEnd(server, agentId, 'say hello')
  return { agentId, refundId: idOf('send_refund'), failedYesterday }
}

/** Asks for a refund that waits. Resolves with the id of its approval. */
export async function askRefund({ server, refundId: toolId }: Ground, order: string): Promise<string> {
  const input = { toolId, arguments: { order_id: order, amount: 250 } }
  const { toolCall } = await make(server, 'callTool', input, 'toolCall { approval { id } }')
  return toolCall.approval.id as string
}

export async function reject({ server }: Ground, approvalId: string): Promise<void> {
  await make(server, 'decideApproval', { approvalId, verdict: 'REJECT' }, 'approval { id }')
}

/** Opens it on a server of its own, with so many waiting requests. */
export async function openGround(waiting = 300): Promise<Ground> {
  const till = await startLoopback(({ url }, response) => {
    const status = url === `/${failingTool}` ? 500 : 200
    response.writeHead(status, { 'content-type': 'application/json' }).end('{"done":true}')
  })
  const stores = await Promise.all(Array.from({ length: upstreams }, () => startModern()))
  for (const { tools } of stores) {
    for (const name of ['find', 'change', 'drop'])
      tools.set(name, { tool: { name, inputSchema: schemaOf({ id: text }) }, run: () => ({ content: [] }) })
  }
  const allowed = [till.address, ...stores.map(({ port }) => `127.0.0.1:${port}`)]
  const server = await openServer('postgres', { upstream: allowed.join(',') })
  const close = async () => {
    await server.close()
    await Promise.all([till.close(), ...stores.map((one) => one.kill())])
  }
  try {
    const addresses = stores.map(({ url }) => url)
    return { server, ...(await populate(server, till.url, addresses, waiting)), close }
  } catch (error) {
    await close()
    throw error
  }
}

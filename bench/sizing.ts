/**
 * Measures what an installation is sized by: gated runs (start, question, verdict, call, end) with one, two and four
 * processes, each on a core of its own, the CPU of servers and PostgreSQL for a run, and what a run takes on disk.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { cpus } from 'node:os'
import postgres from 'postgres'
import { createDatabase } from './database.ts'
import { gatedAgent } from './decision.ts'
import { report, type Row } from './report.ts'
import { openServer, type BenchServer } from './server.ts'
import { inLanes, pause } from './statistics.ts'

const warmUp = 500
const measured = 1500
const lanes = 32

const start = `mutation($i: StartGenerationInput!) { startGeneration(input: $i) {
  ... on GenerationPayload { generation { id } } ... on Error { message } } }`
const waiting = `query($id: ID!) { generation(id: $id) { status toolCalls { approval { id } } } }`
const decide = `mutation($i: DecideApprovalInput!) { decideApproval(input: $i) { ... on Error { message } } }`

/** One gated run from its start to its end: a client that asks every few milliseconds. */
async function gatedRun(server: BenchServer, agentId: string): Promise<void> {
  const made = await server.gql(start, { i: { agentId, prompt: 'call pay {}\nthen\nsay done' } })
  const id = made['startGeneration'].generation.id as string
  const stateWhere = async (holds: (state: Record<string, any>) => boolean) => {
    for (;;) {
      const { generation } = await server.gql(waiting, { id })
      if (holds(generation)) return generation
      await pause(20)
    }
  }
  const asked = await stateWhere(({ toolCalls }) => toolCalls[0]?.approval)
  const approvalId = asked['toolCalls'][0].approval.id
  await server.gql(decide, { i: { approvalId, verdict: 'APPROVE' } })
  await stateWhere(({ status }) => status === 'COMPLETED')
}

/** CPU milliseconds of all processes of PostgreSQL on this machine, those that have ended too; NaN where there is no /proc. */
function postgresCpuMs(): number {
  const ticksPerMs = 0.1
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .reduce((sum, pid) => sum + ticksOf(pid) / ticksPerMs, 0)
  } catch {
    return Number.NaN
  }
}

/** The time of a process of PostgreSQL and of its children that have ended, in hundredths of a second; 0 for other ones. */
function ticksOf(pid: string): number {
  try {
    const [, name, rest] = /^\d+ \((.*)\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))!
    if (name !== 'postgres') return 0
    // Of itself and of its children, in user and system mode: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html.
    return rest!
      .split(' ')
      .slice(11, 15)
      .reduce((sum, one) => sum + Number(one), 0)
  } catch {
    return 0
  }
}

async function bytesOf(url: string): Promise<number> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  await sql`vacuum`
  const [row] = await sql<{ n: string }[]>`select pg_database_size(current_database()) as n`
  await sql.end()
  return Number(row!.n)
}

async function measureOn(processes: number): Promise<Row> {
  const service = createServer((request, response) => request.resume().on('end', () => response.end('ok')))
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  const upstream = `127.0.0.1:${(service.address() as AddressInfo).port}`
  const database = await createDatabase()
  const servers: BenchServer[] = []
  for (let core = 0; core < processes; core++) {
    const server = await openServer('postgres', { databaseUrl: database.url, upstream })
    execFileSync('taskset', ['-acp', String(core), String(server.pid)], { stdio: 'ignore' })
    servers.push(server)
  }
  const agentId = await gatedAgent(servers[0]!, upstream)
  let next = 0
  const one = () => gatedRun(servers[next++ % processes]!, agentId)
  await inLanes(warmUp, lanes, one)
  const cpuMs = async () => (await Promise.all(servers.map((each) => each.usage()))).map((used) => used.cpuMs)
  const sum = (all: number[]) => all.reduce((total, each) => total + each, 0)
  const before = {
    servers: sum(await cpuMs()),
    postgres: postgresCpuMs(),
    bytes: await bytesOf(database.url),
  }
  const seconds = await inLanes(measured, lanes * processes, one)
  const used = { servers: sum(await cpuMs()) - before.servers, postgres: postgresCpuMs() - before.postgres }
  const bytes = (await bytesOf(database.url)) - before.bytes
  for (const server of servers) await server.close()
  await database.drop()
  service.close()
  return {
    case: `${processes} ${processes === 1 ? 'process' : 'processes'}`,
    figures: {
      'gated runs/s': measured / seconds,
      'server CPU ms': used.servers / measured,
      'PostgreSQL CPU ms': used.postgres / measured,
      'cores of PostgreSQL': used.postgres / 1000 / seconds,
      'kB on disk': bytes / measured / 1000,
    },
  }
}

export async function measureSizing(): Promise<void> {
  const rows: Row[] = []
  for (const processes of [1, 2, 4].filter((count) => count <= cpus().length))
    rows.push(await measureOn(processes))
  report('sizing', `Gated runs, ${lanes} at once for each process; each process has a core of its own`, rows)
}

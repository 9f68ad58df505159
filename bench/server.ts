/** A Gatehouse server for measurements: the built one, in a process of its own, called over HTTP with keep-alive connections. */
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startReplica } from '../test/support/replica.ts'
import { createDatabase } from './database.ts'

export const key = 'gh_bench_operator_012345678901234567890123456789012345'
export type Kind = 'postgres' | 'pglite'
export const kinds = ['postgres', 'pglite'] as const

/** Another build can be measured: `bench:compare` sets this to the main.js of a commit. */
const entry = process.env['BENCH_SERVER'] ?? join(import.meta.dirname, '../dist/main.js')

/** What a process has used since its start. */
export interface Usage {
  /** CPU time in milliseconds, user and system. */
  cpuMs: number
  /** Resident memory in bytes. */
  rss: number
}

export interface BenchServer {
  url: string
  pid: number
  /** Runs an operation; throws when it has errors. */
  gql(query: string, variables?: object): Promise<Record<string, any>>
  /** The URL of the database; null on PGlite. */
  databaseUrl: string | null
  usage(): Promise<Usage>
  close(): Promise<void>
}

export interface ServerOptions {
  /** A `host:port` that tools may send requests to. */
  upstream?: string
  /** A PostgreSQL database to use instead of a new one. */
  databaseUrl?: string
  /** How many connections this machine may open; the server's default when absent. */
  connections?: number
}

/** No limit of a key or project is reached; every one of them is checked. */
const settings = {
  NODE_ENV: 'production',
  GATEHOUSE_PORT: '0',
  GATEHOUSE_ADMIN_KEY: key,
  GATEHOUSE_SECRET_KEY: '00'.repeat(32),
  GATEHOUSE_LOG_LEVEL: 'error',
  GATEHOUSE_DRAIN_MS: '0',
  GATEHOUSE_GRACE_MS: '2000',
  GATEHOUSE_REQUESTS_PER_MINUTE: '100000000',
  GATEHOUSE_COST_PER_MINUTE: '1000000000',
  GATEHOUSE_MAX_STREAMS_PER_KEY: '1000000',
  GATEHOUSE_MAX_STREAMS_PER_PROJECT: '1000000',
}

/** Starts a server on a database of its own, which `close` removes. Throws when PostgreSQL does not respond. */
export async function openServer(kind: Kind, options: ServerOptions = {}): Promise<BenchServer> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  const own = kind === 'postgres' && !options.databaseUrl ? await createDatabase() : null
  const databaseUrl = kind === 'postgres' ? (options.databaseUrl ?? own!.url) : null
  const replica = startReplica(entry, {
    ...settings,
    GATEHOUSE_DATA_DIR: folder,
    ...(databaseUrl ? { DATABASE_URL: databaseUrl } : {}),
    ...(options.connections ? { GATEHOUSE_MAX_CONNECTIONS_PER_ADDRESS: `${options.connections}` } : {}),
    ...(options.upstream ? { GATEHOUSE_EGRESS_ALLOW: options.upstream } : {}),
  })
  await replica.ready
  const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })
  return {
    url: replica.url,
    pid: replica.pid,
    databaseUrl,
    gql: (query, variables = {}) => post(replica.url, agent, JSON.stringify({ query, variables })),
    usage: () => usageOf(replica.url),
    async close() {
      agent.destroy()
      await replica.stop()
      await own?.drop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** From the metrics that the server exports about its own process: the same on every system. */
async function usageOf(url: string): Promise<Usage> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
  return { cpuMs: value('process_cpu_seconds_total') * 1000, rss: value('process_resident_memory_bytes') }
}

/** CPU milliseconds of the server during `work`. */
export async function cpuDuring(
  server: { usage(): Promise<Usage> },
  work: () => Promise<unknown>,
): Promise<number> {
  const before = await server.usage()
  await work()
  return (await server.usage()).cpuMs - before.cpuMs
}

function post(url: string, agent: http.Agent, body: string): Promise<Record<string, any>> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${key}`,
      'content-length': Buffer.byteLength(body),
    }
    const request = http.request(`${url}/graphql`, { method: 'POST', agent, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => {
        const answer = JSON.parse(text) as { data: Record<string, any>; errors?: unknown }
        if (answer.errors) reject(new Error(text))
        else resolve(answer.data)
      })
    })
    request.on('error', (error) => {
      // The server closed a keep-alive connection while this process was busy. It has read nothing of the request.
      if (request.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET')
        post(url, agent, body).then(resolve, reject)
      else reject(error)
    })
    request.end(body)
  })
}

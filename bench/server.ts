/** A Gatehouse server for measurements: in this process, on either database, called over HTTP with keep-alive connections. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { createApp, type App } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'

export const key = 'gh_bench_operator_012345678901234567890123456789012345'
const server = process.env['BENCH_POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres'

export interface BenchServer {
  app: App
  /** Runs an operation; throws when it has errors. */
  gql(query: string, variables?: object): Promise<Record<string, any>>
  /** The URL of the database; null on PGlite. */
  databaseUrl: string | null
  close(): Promise<void>
}

async function onServer(statement: string): Promise<void> {
  const sql = postgres(server, { max: 1, onnotice: () => {}, connect_timeout: 3 })
  await sql.unsafe(statement).finally(() => sql.end({ timeout: 1 }))
}

/**
 * Starts a server on a database of its own, which `close` removes. Throws when PostgreSQL does not respond. Tools may send
 * requests to `upstream`, a `host:port`.
 */
export async function openServer(kind: 'postgres' | 'pglite', upstream?: string): Promise<BenchServer> {
  const name = `gatehouse_bench_${randomBytes(4).toString('hex')}`
  const folder = kind === 'pglite' ? await mkdtemp(join(tmpdir(), 'gatehouse-bench-')) : null
  let databaseUrl: string | null = null
  if (!folder) {
    await onServer(`create database ${name}`)
    databaseUrl = Object.assign(new URL(server), { pathname: `/${name}` }).href
  }
  const settings = loadConfig({
    GATEHOUSE_PORT: '0',
    GATEHOUSE_ADMIN_KEY: key,
    GATEHOUSE_LOG_LEVEL: 'error',
    GATEHOUSE_REQUESTS_PER_MINUTE: '100000000',
    ...(upstream ? { GATEHOUSE_EGRESS_ALLOW: upstream } : {}),
  })
  const config = {
    ...settings,
    demo: false,
    graphiql: false,
    databaseUrl,
    secretKey: Buffer.alloc(32),
  }
  const app = await createApp(
    config,
    folder ? { database: { kind: 'pglite', directory: join(folder, 'db') } } : {},
  )
  const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })
  return {
    app,
    databaseUrl,
    gql: (query, variables = {}) => post(app.url, agent, JSON.stringify({ query, variables })),
    async close() {
      agent.destroy()
      await app.stop(1000)
      if (folder) await rm(folder, { recursive: true, force: true })
      else await onServer(`drop database if exists ${name} with (force)`)
    },
  }
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

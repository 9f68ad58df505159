/** The client that the suite judges: our own client of upstreams, in a project of its own for each scenario. */
import { createApp, type App } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { newId } from '../../src/core/ids.ts'
import { createPool } from '../../src/core/pool.ts'
import { policyOfRole, type Ctx } from '../../src/domain/access/index.ts'
import { setSecret } from '../../src/domain/secrets/index.ts'
import {
  connectUpstream,
  refreshUpstream,
  saveUpstream,
  type UpstreamAuth,
} from '../../src/domain/upstream/index.ts'
import { browse } from '../support/browser.ts'
import { memoryDatabase } from '../support/databases.ts'
import { useEverything, type Place } from './client-caller.ts'

/** What the suite tells the program that it judges. */
export interface Task {
  scenario: string
  /** Of the suite's server. */
  url: string
  /** What an operator would know beforehand. */
  context: Record<string, any>
}

/** Clients with a metadata document have an https address; nobody connects to it. */
const publicUrl = 'https://gatehouse.example.com'
/** A login, and one more for each time that a call needs more rights or the server another login. */
const mostLogins = 3

/** The server whose client is judged. */
export async function openServer(): Promise<App> {
  return createApp(
    {
      ...loadConfig({
        GATEHOUSE_PORT: '0',
        GATEHOUSE_LOG_LEVEL: process.env['TEST_LOG'] ?? 'silent',
        GATEHOUSE_ADMIN_KEY: 'gh_test_operator_0123456789012345678901234567890123',
      }),
      demo: false,
      graphiql: false,
      role: 'api',
      egressAllowPrivate: true,
      secretKey: Buffer.alloc(32, 7),
      publicUrl,
      allowedHosts: ['127.0.0.1', 'localhost'],
    },
    { database: await memoryDatabase() },
  )
}

/** Connects to the scenario's server and uses all that it offers, as an operator would; answers what happened, line by line. */
export async function drive(app: App, task: Task): Promise<string[]> {
  const lines: string[] = []
  // A scenario ends when nobody is connected to its server any more.
  const connections = createPool({ max: 10, idleMs: 60_000, maxAgeMs: 60_000 })
  try {
    await useServer(app, { ...app.services, connections }, task, (line) => lines.push(line))
  } catch (error) {
    lines.push(String((error as Error).stack))
  } finally {
    await connections.close()
  }
  return lines
}

async function useServer(
  app: App,
  services: App['services'],
  task: Task,
  say: (line: string) => void,
): Promise<void> {
  const place: Place = { id: newId('tool'), projectId: newId('project') }
  const ctx: Ctx = app.ctxOf({
    id: 'key_driver',
    name: 'driver',
    projectId: place.projectId,
    installation: false,
    role: 'admin',
    policy: policyOfRole('admin'),
    expiresAt: null,
    agentId: null,
    votes: true,
  })
  const config = { url: task.url, headers: {}, auth: await authOf(ctx, task) }
  await saveUpstream(services.db, { ...place, config })
  for (let logins = 0; ; logins++) {
    const { status, error } = await refreshUpstream(services, place.id)
    const wanted = task.context['toolCalls'] ?? []
    const codes = status === 'CONNECTED' ? await useEverything(services, place, wanted) : [error?.code]
    say(`${status}: ${codes.join(', ') || 'no errors'}`)
    if (!codes.includes('authorization_required') || logins === mostLogins) return
    const outcome = await login(app, ctx, place)
    say(`login: ${outcome}`)
    if (outcome !== '200') return
  }
}

/** As an operator would configure it who knows what the scenario gives. */
async function authOf(ctx: Ctx, { scenario, context, url }: Task): Promise<UpstreamAuth | null> {
  const { client_id: clientId, client_secret: secret, private_key_pem: pem } = context
  const byPeople = { kind: 'authorization_code' as const, scopes: [] }
  const own = { ...byPeople, clientId: null, clientSecret: null, issuer: null }
  // Rights are widened only to what was allowed beforehand.
  if (/scope-(step-up|retry-limit)/.test(scenario))
    return { ...own, allowedScopes: ['mcp:basic', 'mcp:write', 'mcp:admin'] }
  if (!clientId) return null
  await setSecret(ctx, { name: 'CREDENTIAL', value: String(pem ?? secret) })
  const known = { clientId: String(clientId), issuer: await issuerOf(url), scopes: [] }
  if (pem) {
    const algorithm = String(context['signing_algorithm'] ?? 'ES256')
    return { kind: 'private_key_jwt', ...known, privateKey: 'CREDENTIAL', algorithm }
  }
  return scenario.includes('client-credentials')
    ? { kind: 'client_credentials', ...known, clientSecret: 'CREDENTIAL' }
    : { ...byPeople, ...known, clientSecret: 'CREDENTIAL', allowedScopes: [] }
}

/** The issuer of the account: operators know it, the scenario names it only in the server's metadata. */
async function issuerOf(url: string): Promise<string> {
  const refused = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'ping' }),
  })
  const metadata = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1]
  const found = (await (await fetch(metadata!)).json()) as { authorization_servers: string[] }
  return found.authorization_servers[0]!
}

/** As a person with a browser would, who agrees to everything: the status of the last page, or why there was none. */
async function login(app: App, ctx: Ctx, { id: toolId }: Place): Promise<string> {
  try {
    const page = await connectUpstream(ctx, { toolId })
    const { status } = await browse(page.url, { [publicUrl]: app.url })
    return String(status)
  } catch (error) {
    return (error as Error).message
  }
}

/**
 * The client that the suite judges: our own upstream room in a house of its own. A program; the suite gives the server's
 * address as the last argument, the scenario in MCP_CONFORMANCE_SCENARIO and what an operator would know beforehand in
 * MCP_CONFORMANCE_CONTEXT. MIGRATED_DUMP names a dump of a migrated database.
 */
import { readFile } from 'node:fs/promises'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { newId } from '../../src/core/ids.ts'
import { policyOfRole, type Ctx, type House } from '../../src/domain/access/index.ts'
import { setSecret } from '../../src/domain/secrets/index.ts'
import {
  connectUpstream,
  refreshUpstream,
  saveUpstream,
  type UpstreamAuth,
} from '../../src/domain/upstream/index.ts'
import { browse } from '../support/browser.ts'
import { useEverything, type Place } from './client-caller.ts'

const url = process.argv.at(-1)!
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as Record<string, any>
const place: Place = { id: newId('tool'), projectId: 'proj_conformance' }
/** Clients with a metadata document have an https address; nobody connects to it. */
const publicUrl = 'https://gatehouse.example.com'
/** A login, and one more for each time that a call needs more rights or the server another login. */
const mostLogins = 3

const app = await createApp(
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
  { database: { kind: 'memory', dump: new Blob([await readFile(process.env['MIGRATED_DUMP']!)]) } },
)
const house: House = app.house
const ctx: Ctx = app.ctxOf({
  id: 'key_driver',
  name: 'driver',
  projectId: place.projectId,
  installation: false,
  role: 'admin',
  policy: policyOfRole('admin'),
  expiresAt: null,
  agentId: null,
})

try {
  await run()
} finally {
  await app.stop(500)
}
// Sockets that the suite keeps open must not keep us.
process.exit()

async function run(): Promise<void> {
  const config = { url, headers: {}, auth: await authOf() }
  await saveUpstream(house.db, { ...place, config })
  for (let logins = 0; ; logins++) {
    const { status, error } = await refreshUpstream(house, place.id)
    const codes =
      status === 'CONNECTED' ? await useEverything(house, place, context['toolCalls'] ?? []) : [error?.code]
    console.log(`${status}: ${codes.join(', ') || 'no errors'}`)
    if (!codes.includes('authorization_required') || logins === mostLogins) return
    if (!(await login())) return
  }
}

/** As an operator would configure it who knows what the scenario gives. */
async function authOf(): Promise<UpstreamAuth | null> {
  const { client_id: clientId, client_secret: secret, private_key_pem: pem } = context
  const byPeople = { kind: 'authorization_code' as const, scopes: [] }
  const own = { ...byPeople, clientId: null, clientSecret: null, issuer: null }
  // Rights are widened only to what was allowed beforehand.
  if (/scope-(step-up|retry-limit)/.test(scenario))
    return { ...own, allowedScopes: ['mcp:basic', 'mcp:write', 'mcp:admin'] }
  if (!clientId) return null
  await setSecret(ctx, { name: 'CREDENTIAL', value: String(pem ?? secret) })
  const known = { clientId: String(clientId), issuer: await issuerOf(), scopes: [] }
  if (pem) {
    const algorithm = String(context['signing_algorithm'] ?? 'ES256')
    return { kind: 'private_key_jwt', ...known, privateKey: 'CREDENTIAL', algorithm }
  }
  return scenario.includes('client-credentials')
    ? { kind: 'client_credentials', ...known, clientSecret: 'CREDENTIAL' }
    : { ...byPeople, ...known, clientSecret: 'CREDENTIAL', allowedScopes: [] }
}

/** The issuer of the account: operators know it, the scenario names it only in the server's metadata. */
async function issuerOf(): Promise<string> {
  const refused = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'ping' }),
  })
  const metadata = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1]
  const found = (await (await fetch(metadata!)).json()) as { authorization_servers: string[] }
  return found.authorization_servers[0]!
}

/** As a person with a browser would, who agrees to everything. False when there is nowhere to go, or no way back. */
async function login(): Promise<boolean> {
  try {
    const page = await connectUpstream(ctx, { toolId: place.id })
    const { status } = await browse(page.url, { [publicUrl]: app.url })
    console.log(`login: ${status}`)
    return status === 200
  } catch (error) {
    console.log(`login: ${(error as Error).message}`)
    return false
  }
}

/** Operations that people run on upstreams: refresh one now, and test a configuration before it is saved. */
import { newId } from '../../core/ids.ts'
import { type Services, assertMay, operation, projectOf, reachable } from '../access/index.ts'
import { authFor } from './oauth/auth.ts'
import { emptyCatalog } from './catalog/catalog.ts'
import {
  type UpstreamConfig,
  checkUpstreamConfig,
  secretsOf,
  connectionFields,
  withoutSecrets,
} from './config.ts'
import { discoverOver } from './catalog/discover.ts'
import { faultOf } from './fault.ts'
import { openLink } from './wire/link.ts'
import {
  type Era,
  type UpstreamStatus,
  type UpstreamTransport,
  eraChoice,
  loadRows,
  ofUpstream,
  toolOfUpstream,
  upstreamStatusChoice,
  upstreamTransportChoice,
} from './state.ts'
import { targetOf } from './target.ts'
import { memoryTokenStore } from './oauth/tokens.ts'
import { z } from 'zod'
import { invalidAt } from '../../core/errors.ts'
import { idShape, optional, serverFault } from '../../core/shapes.ts'
import { faultOfUse, secretNames } from '../secrets/index.ts'
import { refreshUpstream } from './catalog/refresh.ts'

interface Trial {
  ok: boolean
  status: UpstreamStatus
  era: Era | null
  transport: UpstreamTransport | null
  server: { name: string; version: string } | null
  /** Names of the server's tools, sorted; at most 1000. */
  tools: string[]
  error: { code: string; message: string } | null
}

/** Limit for the whole trial, in milliseconds. */
const trialMs = 20_000

/** Connects, lists and closes. A failure of the server is returned, not thrown; tokens it requires are not stored. */
export async function tryConfig(
  services: Services,
  projectId: string,
  config: UpstreamConfig,
): Promise<Trial> {
  const limit = AbortSignal.timeout(trialMs)
  const nothing = { era: null, transport: null, server: null, tools: [] }
  try {
    const target = await targetOf(services, projectId, config)
    const auth = authFor(services, { id: newId('tool'), projectId, config }, target, memoryTokenStore())
    const link = await openLink(services, target, { protocol: null, auth, timeoutMs: trialMs, signal: limit })
    try {
      const { catalog } = await discoverOver(link, emptyCatalog, projectId, limit)
      const { era: spoken, transport } = link
      const tools = catalog.tools.map((tool) => tool.name)
      return {
        ok: true,
        status: 'CONNECTED',
        era: spoken,
        transport,
        server: catalog.server,
        tools,
        error: null,
      }
    } finally {
      await link.close()
    }
  } catch (error) {
    const { code, message } = faultOf(error)
    const status = /^(authorization|issuer)_/.test(code) ? 'AUTHORIZATION_REQUIRED' : 'UNREACHABLE'
    return { ok: false, status, ...nothing, error: { code, message } }
  }
}

export const refreshUpstreamNow = operation({
  name: 'refreshUpstream',
  does: 'Reads the lists of the server behind an mcp tool now; a failure shows in its status.',
  permission: 'tools:Connect',
  input: ofUpstream,
  payload: toolOfUpstream,
  refuses: ['NOT_FOUND'],
  async run(ctx, { toolId }) {
    const [found] = await loadRows(ctx.db, [toolId])
    const row = reachable(ctx, found, 'upstream', toolId)
    await assertMay(ctx, 'tools:Connect', row.projectId, `tool/${row.id}`)
    await refreshUpstream(ctx, row.id)
    return { tool: toolId }
  },
})

/** Also action `secrets:Use` on each secret of the configuration. INVALID lists every fault of it. */
export const tryUpstream = operation({
  name: 'testUpstream',
  does: 'Connects to an upstream MCP server as an mcp tool would and lists its tools; nothing is stored.',
  permission: 'tools:Create',
  input: z
    .object({
      projectId: optional(
        idShape('The id of the project whose secrets are used.'),
        'the project of the API key',
      ),
      ...connectionFields,
    })
    .describe('The connection to test; the fields are those of McpToolConfigInput.'),
  payload: z
    .object({
      ok: z.boolean().describe('Whether the server responded as an MCP server.'),
      status: upstreamStatusChoice.describe('The status that an mcp tool with this connection would have.'),
      error: serverFault.nullable().describe('The failure; null when the test succeeded.'),
      era: eraChoice.nullable().describe('The protocol that the server speaks; null when it is unknown.'),
      transport: upstreamTransportChoice
        .nullable()
        .describe('The transport to the server; null when it is unknown.'),
      tools: z.array(z.string()).describe('The names of the tools of the server.'),
    })
    .describe('The result of the connection test.'),
  refuses: ['NOT_FOUND'],
  async run(ctx, { projectId: given, ...input }) {
    const projectId = await projectOf(ctx, given)
    await assertMay(ctx, 'tools:Create', projectId, 'tool/*')
    const config = checkUpstreamConfig(ctx, input)
    const own = [config.url, ...Object.values(config.headers)].flatMap(secretNames)
    const fault =
      (await faultOfUse(ctx, projectId, own, withoutSecrets(config.url, 'x'))) ??
      (await faultOfUse(ctx, projectId, secretsOf(config), null))
    if (fault) throw invalidAt(['input'], fault)
    return tryConfig(ctx, projectId, config)
  },
})

/** Operations that people run on upstreams: refresh one now, and test a configuration before it is saved. */
import { z } from 'zod'
import { invalidAt } from '../../core/errors.ts'
import { idShape, optional, serverFault } from '../../core/shapes.ts'
import { assertMay, operation, projectOf, reachable } from '../access/index.ts'
import { faultOfUse, secretNames } from '../secrets/index.ts'
import { checkUpstreamConfig, secretsOf, connectionFields, withoutSecrets } from './config.ts'
import { refreshUpstream } from './catalog/refresh.ts'
import {
  eraChoice,
  loadRows,
  ofUpstream,
  toolOfUpstream,
  upstreamStatusChoice,
  upstreamTransportChoice,
} from './state.ts'
import { tryConfig } from './trial.ts'

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

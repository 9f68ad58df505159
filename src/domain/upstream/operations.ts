/** Operations that people run on upstreams: refresh one now, and test a configuration before it is saved. */
import { invalidAt } from '../../core/errors.ts'
import { assertMay, projectOf, reachable, type Ctx } from '../access/index.ts'
import { faultOfUse, secretNames } from '../secrets/index.ts'
import { checkUpstreamConfig, secretsOf, withoutSecrets } from './config.ts'
import { refreshUpstream } from './catalog/refresh.ts'
import { loadRows } from './state.ts'
import { testUpstream, type Trial } from './trial.ts'

/**
 * Reads the lists of an upstream now. Action `tools:Connect` on the tool. An unreachable server is a state of the
 * upstream, not an error.
 */
export async function refreshUpstreamNow(ctx: Ctx, input: { toolId: string }): Promise<void> {
  const [found] = await loadRows(ctx.db, [input.toolId])
  const row = reachable(ctx, found, 'upstream', input.toolId)
  await assertMay(ctx, 'tools:Connect', row.projectId, `tool/${row.id}`)
  await refreshUpstream(ctx, row.id)
}

/**
 * Connects to a server as a tool would, lists what it offers, and stores nothing. Action `tools:Create`, since it uses
 * secrets of the project as a tool does, and `secrets:Use` on each secret in the configuration. INVALID lists every
 * fault of the configuration.
 */
export async function tryUpstream(
  ctx: Ctx,
  input: Parameters<typeof checkUpstreamConfig>[1] & { projectId?: string | null | undefined },
): Promise<Trial> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'tools:Create', projectId, 'tool/*')
  const config = checkUpstreamConfig(ctx, input)
  const own = [config.url, ...Object.values(config.headers)].flatMap(secretNames)
  const fault =
    (await faultOfUse(ctx, projectId, own, withoutSecrets(config.url, 'x'))) ??
    (await faultOfUse(ctx, projectId, secretsOf(config), null))
  if (fault) throw invalidAt(['input'], fault)
  return testUpstream(ctx, projectId, config)
}

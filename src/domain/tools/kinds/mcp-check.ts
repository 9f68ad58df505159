/** Validates the configuration of an mcp tool: the URL of its upstream, and which of its tools are offered, and how. */
import { z } from 'zod'
import { check, text } from '../../../core/check.ts'
import { invalid } from '../../../core/errors.ts'
import type { Services } from '../../access/index.ts'
import { checkUpstreamConfig } from '../../upstream/index.ts'
import { gateInput } from '../../gates/index.ts'
import type { McpToolConfig } from '../tool.ts'

const root = ['input', 'config', 'mcp']
const names = z.array(text(200, 1)).max(1000)
const patterns = z.array(text(500, 1)).max(100)
const own = z.object({
  allow: names.nullish(),
  deny: names.nullish(),
  gates: z
    .array(z.object({ action: text(200, 1), gate: gateInput }))
    .max(1000)
    .nullish(),
  relay: z.object({ resources: patterns.nullish(), prompts: patterns.nullish() }).nullish(),
  trustHints: z.boolean().nullish(),
})

/** Turns a stored configuration back into the input that creates it. */
export function mcpInputOf(config: McpToolConfig): Record<string, unknown> {
  const gates = Object.entries(config.gates).map(([action, gate]) => ({ action, gate }))
  return { ...config, gates }
}

/** Returns the configuration in its stored form. Throws INVALID with every fault; opens no connection. */
export function checkMcpConfig(services: Pick<Services, 'egress'>, given: unknown): McpToolConfig {
  const upstream = checkUpstreamConfig(services, given)
  if ('faults' in upstream)
    throw invalid(upstream.faults.map((fault) => ({ ...fault, path: [...root, ...fault.path] })))
  const { allow, deny, gates, relay, trustHints } = check(own, given, root)
  return {
    ...upstream.config,
    allow: allow ? [...new Set(allow)] : null,
    deny: [...new Set(deny)],
    gates: Object.fromEntries((gates ?? []).map(({ action, gate }) => [action, gate])),
    ...(relay ? { relay: { resources: relay.resources ?? [], prompts: relay.prompts ?? [] } } : {}),
    trustHints: trustHints ?? false,
  }
}

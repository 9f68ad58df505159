/** The parts of a definition that decide whether its calls need approval. */
import { hashJson, type JsonObject } from '../../core/json.ts'
import type { Database } from '../../store/db/database.ts'
import { recordChange, type Ctx } from '../access/index.ts'
import { appendProjectEvents, gateChanged } from '../events/index.ts'
import type { GatePolicy } from '../gates/index.ts'
import type { ToolDefinition } from './fields.ts'

/**
 * A hash of everything that decides about a tool's calls: its policy, those of single actions, the destructive hint
 * that counts when no policy is set, and whether it may be called directly. With a policy that judges arguments, the
 * input schema and presets count too: renaming an argument would evade the policy. Equal hashes: the same calls pass.
 * Pure.
 */
export function gateFactsOf(definition: ToolDefinition): string {
  const { gate = null, mcp, annotations, agentsOnly = false, inputSchema, presetParameters } = definition
  const hint = gate === null ? (annotations.destructiveHint ?? null) : null
  const judges = [gate, ...Object.values(mcp?.gates ?? {})].some((policy) => policy?.mode === 'WHEN')
  return hashJson([gate, hint, mcp?.gates ?? {}, agentsOnly, judges ? [inputSchema, presetParameters] : null])
}

/** The same hash for the gate of an agent. Pure. */
export function gateFactsOfAgent({ gate = null }: { gate?: GatePolicy | null }): string {
  return hashJson(gate)
}

/** Records that a gate was changed: an audit entry and an event. Call it in the transaction of the change. */
export async function recordGateChanged(
  tx: Database,
  ctx: Ctx,
  { id, projectId, name }: { id: string; projectId: string; name: string },
  details: JsonObject = {},
): Promise<void> {
  const resource = `${resourceKinds[id.split('_', 1)[0]!]}/${id}`
  await recordChange(tx, ctx, { projectId, action: 'gates:Update', resource, details: { name, ...details } })
  await appendProjectEvents(tx, projectId, [gateChanged({ target: id, name, decidedBy: ctx.principal.id })])
}

const resourceKinds: Record<string, string> = { tool: 'tool', agt: 'agent', proj: 'project' }

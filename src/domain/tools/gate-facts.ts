/** What decides about calls of a tool, apart from everything else that can be changed of it. */
import { hashJson, type JsonObject } from '../../core/json.ts'
import type { Database } from '../../store/db/database.ts'
import { recordChange, type Ctx } from '../access/index.ts'
import { appendProjectEvents, gateChanged } from '../events/index.ts'
import type { GatePolicy } from './gate.ts'
import type { ToolDefinition } from './tool.ts'

/**
 * A hash of all that the gate of a tool is: its policy, those of single actions, the hint that stands in for a missing
 * one, and whether it may be called directly. Where a policy judges arguments, what they are called and what is fixed of
 * them belongs to it: a renamed argument would pass by. Two definitions with the same hash let the same calls pass. Pure.
 */
export function gateFactsOf(definition: ToolDefinition): string {
  const { gate = null, mcp, annotations, agentsOnly = false, inputSchema, presetParameters } = definition
  const hint = gate === null ? (annotations.destructiveHint ?? null) : null
  const judges = [gate, ...Object.values(mcp?.gates ?? {})].some((policy) => policy?.mode === 'WHEN')
  return hashJson([gate, hint, mcp?.gates ?? {}, agentsOnly, judges ? [inputSchema, presetParameters] : null])
}

/** The same of the gate of an agent. Pure. */
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

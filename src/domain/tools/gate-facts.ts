/** What decides about calls of a tool, apart from everything else that can be changed of it. */
import { hashJson, type JsonObject } from '../../core/json.ts'
import type { Database } from '../../store/db/database.ts'
import { appendProjectEvents } from '../../store/events/log.ts'
import { recordChange, type Ctx } from '../access/index.ts'
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

/** Writes that a gate was changed: for the audit, and for whoever follows the project. In the transaction of the change. */
export async function tellGateChanged(
  tx: Database,
  ctx: Ctx,
  { id, projectId, name }: { id: string; projectId: string; name: string },
  details: JsonObject = {},
): Promise<void> {
  const resource = `${resourceKinds[id.split('_', 1)[0]!]}/${id}`
  await recordChange(tx, ctx, { projectId, action: 'gates:Update', resource, details: { name, ...details } })
  const data = { target: id, name, decidedBy: ctx.principal.id }
  await appendProjectEvents(tx, projectId, [{ type: 'GATE_CHANGED', data }])
}

const resourceKinds: Record<string, string> = { tool: 'tool', agt: 'agent', proj: 'project' }

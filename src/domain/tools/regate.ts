/** Changes the gate of a tool and nothing else, for changes that two people agree to. */
import { z } from 'zod'
import { check } from '../../core/check.ts'
import { invalidAt } from '../../core/errors.ts'
import type { Database } from '../../store/db/database.ts'
import type { Ctx } from '../access/index.ts'
import { gateInput } from '../gates/index.ts'
import { changedDefinition, checked } from './definition.ts'
import type { ToolDefinition } from './fields.ts'
import { actionGates, gatesOf } from './kinds/mcp-config.ts'
import type { Tool } from './tool.ts'
import { saveVersion } from './versions.ts'

const shape = z.object({
  gate: gateInput.nullish(),
  /** For an mcp tool: the gates of single actions, as the complete list. */
  actionGates: actionGates.nullish(),
  agentsOnly: z.boolean().nullish(),
})

/** The parts of a tool's gate to set. Absent parts keep their value. */
export type ToolGateEdit = z.input<typeof shape>

/** Returns the definition of a tool with another gate, validated. Throws INVALID with every fault. */
export function withGate(ctx: Ctx, known: Tool, edit: ToolGateEdit): ToolDefinition {
  if (edit.actionGates && !known.mcp) throw invalidAt(['input', 'actionGates'], 'is for mcp tools')
  const { gate, actionGates: gates, agentsOnly } = check(shape, edit)
  const made = changedDefinition({ gate, agentsOnly: agentsOnly ?? undefined }, ctx, known)
  if (!gates) return made
  return checked({ ...made, mcp: { ...made.mcp!, gates: gatesOf(gates) } }, ctx, known.projectId, known)
}

/**
 * Sets the gate of a tool in the caller's transaction; null when the tool no longer has that version. Checks no
 * permission.
 */
export function regateTool(tx: Database, ctx: Ctx, known: Tool, edit: ToolGateEdit): Promise<Tool | null> {
  return saveVersion(tx, ctx, known, withGate(ctx, known, edit))
}

/** Changes the gate of a tool and nothing else, for changes that two people agree to. */
import { invalidAt } from '../../core/errors.ts'
import type { Database } from '../../store/db/database.ts'
import type { Ctx } from '../access/index.ts'
import { checkDefinition, type ToolInput } from './definition.ts'
import type { GateInput } from '../gates/index.ts'
import { mcpInputOf } from './kinds/mcp-check.ts'
import type { Tool, ToolDefinition } from './tool.ts'
import { saveVersion } from './versions.ts'

/** The parts of a tool's gate to set. Absent parts keep their value. */
export interface ToolGateEdit {
  gate?: GateInput | null | undefined
  /** For an mcp tool: the gates of single actions, as the complete list. */
  actionGates?: { action: string; gate: GateInput }[] | null | undefined
  agentsOnly?: boolean | null | undefined
}

/** Returns the definition of a tool with another gate, validated. Throws INVALID with every fault. */
export function withGate(ctx: Ctx, known: Tool, edit: ToolGateEdit): ToolDefinition {
  const { gate, actionGates, agentsOnly } = edit
  if (actionGates && !known.mcp) throw invalidAt(['input', 'actionGates'], 'is for mcp tools')
  const input = inputOf(known)
  const mcp = actionGates ? { mcp: { ...mcpInputOf(known.mcp!), gates: actionGates } } : null
  return checkDefinition(
    {
      ...input,
      ...(gate === undefined ? {} : { gate }),
      ...(typeof agentsOnly === 'boolean' ? { agentsOnly } : {}),
      ...(mcp ? { config: mcp } : {}),
    },
    ctx,
    known.projectId,
    known,
  )
}

/**
 * Sets the gate of a tool in the caller's transaction; null when the tool no longer has that version. Checks no
 * permission.
 */
export function regateTool(tx: Database, ctx: Ctx, known: Tool, edit: ToolGateEdit): Promise<Tool | null> {
  return saveVersion(tx, ctx, known, withGate(ctx, known, edit))
}

/** Turns a stored tool back into the input that creates it, so that an update validates the whole. */
export function inputOf(tool: Tool): ToolInput {
  const { inputSchema, http, mcp, platform } = tool
  const {
    name,
    title,
    description,
    presetParameters,
    outputSchema,
    annotations,
    timeoutMs,
    idempotent,
    gate,
  } = tool
  const config = http
    ? { http: { ...http, inputSchema } }
    : mcp
      ? { mcp: mcpInputOf(mcp) }
      : platform
        ? { platform }
        : { client: { inputSchema } }
  return {
    name,
    title,
    description,
    presetParameters,
    outputSchema,
    annotations,
    timeoutMs,
    idempotent,
    gate: gate ?? null,
    agentsOnly: tool.agentsOnly ?? null,
    task: tool.task ?? null,
    config,
  }
}

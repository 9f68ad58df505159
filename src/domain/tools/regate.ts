/** Another gate for a tool, and nothing else of it: what two people may have agreed to. */
import { invalidAt } from '../../core/errors.ts'
import type { Database } from '../../store/db/database.ts'
import type { Ctx } from '../access/index.ts'
import { checkDefinition, type ToolInput } from './definition.ts'
import type { GateInput } from './gate.ts'
import { mcpInputOf } from './kinds/mcp-check.ts'
import type { Tool, ToolDefinition } from './tool.ts'
import { saveVersion } from './versions.ts'

/** What can be set of the gate of a tool. What is left out stays. */
export interface ToolGateEdit {
  gate?: GateInput | null | undefined
  /** Of an mcp tool: the gates of single actions, all of them anew. */
  actionGates?: { action: string; gate: GateInput }[] | null | undefined
  agentsOnly?: boolean | null | undefined
}

/** The definition of a tool with another gate, checked. INVALID names every fault. */
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
  )
}

/** Sets the gate of a tool of that version, in the caller's transaction; null when it has another one. Checks nothing else. */
export function regateTool(tx: Database, ctx: Ctx, known: Tool, edit: ToolGateEdit): Promise<Tool | null> {
  return saveVersion(tx, ctx, known, withGate(ctx, known, edit))
}

/** A stored tool as the input that would make it again, so that an update checks the whole. */
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

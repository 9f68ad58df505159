/** Changes of a tool to which people agree: its gate and nothing else, and what its server says of it now. */
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { invalidAt, AppError } from '../../core/errors.ts'
import { type Database, atomically } from '../../store/db/database.ts'
import { type Ctx, assertMay, operation, publishSurface } from '../access/index.ts'
import { gateInput } from '../gates/index.ts'
import { changedDefinition, checkDefinition } from './definition.ts'
import type { ToolDefinition } from './fields.ts'
import { actionGates, gatesOf } from './kinds/mcp-config.ts'
import type { Tool } from './callable.ts'
import { saveVersion } from './versions.ts'
import { idOf } from '../../core/shapes.ts'
import { assertOneMayRegate } from '../projects/index.ts'
import { agreeToChange, toolOfUpstream } from '../upstream/index.ts'
import { recordGateChanged } from './gates.ts'
import { findTool } from './registry.ts'

const regateShape = z.object({
  gate: gateInput.nullish(),
  /** For an mcp tool: the gates of single actions, as the complete list. */
  actionGates: actionGates.nullish(),
  agentsOnly: z.boolean().nullish(),
})

/** The parts of a tool's gate to set. Absent parts keep their value. */
export type ToolGateEdit = z.input<typeof regateShape>

/** Returns the definition of a tool with another gate, validated. Throws INVALID with every fault. */
export function withGate(ctx: Ctx, known: Tool, edit: ToolGateEdit): ToolDefinition {
  if (edit.actionGates && !known.mcp) throw invalidAt(['input', 'actionGates'], 'is for mcp tools')
  const { gate, actionGates: gates, agentsOnly } = check(regateShape, edit)
  const made = changedDefinition({ gate, agentsOnly: agentsOnly ?? undefined }, ctx, known)
  if (!gates) return made
  return checkDefinition(
    { ...made, mcp: { ...made.mcp!, gates: gatesOf(gates) } },
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

/** Hints and arguments count as the server gives them now. */
export const acceptUpstreamChange = operation({
  name: 'acceptUpstreamChange',
  does:
    'Accepts what an upstream says of its tool now: until then, a hint that it took back still stops calls, masked arguments ' +
    'stay masked, and conditions on arguments that it changed stop every call. CONFLICT when the server says something else by ' +
    'now, and where changes of gates need a second person.',
  permission: 'gates:Update',
  input: z
    .object({
      toolId: idOf('tool', 'mcp tool'),
      action: text(200, 1).describe('The name of the action, as ToolAction.action has it.'),
      hash: text(200, 1).describe('HeldChange.hash of the change that was read.'),
    })
    .describe('The change to accept, as ToolAction.heldChange shows it.'),
  payload: toolOfUpstream,
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(ctx, { toolId, action, hash }) {
    const { id, projectId, name } = await findTool(ctx, toolId)
    await assertMay(ctx, 'gates:Update', projectId, `tool/${id}`)
    await atomically(ctx.db, async (tx) => {
      await assertOneMayRegate(tx, projectId)
      const agreement = await agreeToChange(tx, id, action, hash)
      if (agreement === null) throw invalidAt(['input', 'action'], 'is no action that the server lists')
      if (agreement === 'MOVED')
        throw new AppError(
          'CONFLICT',
          'The server says something else by now: read the change of the action again.',
        )
      if (agreement.changes.length === 0) return
      await recordGateChanged(tx, ctx, { id, projectId, name }, { action, changes: agreement.changes })
    })
    publishSurface(ctx, projectId)
    return { tool: toolId }
  },
})

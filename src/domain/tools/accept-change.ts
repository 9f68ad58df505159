/** What a server says of its tool now counts when a person with `gates:Update` accepts it. */
import { idOf } from '../../core/shapes.ts'
import { z } from 'zod'
import { text } from '../../core/check.ts'
import { AppError, invalidAt } from '../../core/errors.ts'
import { atomically } from '../../store/db/database.ts'
import { assertMay, operation, publishSurface } from '../access/index.ts'
import { assertOneMayRegate } from '../projects/index.ts'
import { agreeToChange, toolOfUpstream } from '../upstream/index.ts'
import { recordGateChanged } from './gate-facts.ts'
import { findTool } from './registry.ts'

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

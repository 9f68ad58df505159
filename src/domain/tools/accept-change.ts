/** What a server says of its tool now counts when a person with `gates:Update` accepts it. */
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { AppError, invalidAt } from '../../core/errors.ts'
import { atomically } from '../../store/db/database.ts'
import { assertMay, publishSurface, type Ctx } from '../access/index.ts'
import { assertOneMayRegate } from '../projects/index.ts'
import { agreeToChange } from '../upstream/index.ts'
import { recordGateChanged } from './gate-facts.ts'
import { findTool } from './registry.ts'

const shape = z.object({
  toolId: z.string(),
  action: text(200, 1),
  hash: text(200, 1),
})

export type AcceptChangeInput = z.input<typeof shape>

/**
 * Accepts the held changes of one action of an mcp tool: hints and arguments count as the server gives them now. `hash` is that
 * of the change that the person has read; CONFLICT when the server says something else by now, and in a project where changes
 * of gates need a second person. Action `gates:Update` on the tool. Idempotent.
 */
export async function acceptUpstreamChange(ctx: Ctx, input: AcceptChangeInput): Promise<void> {
  const { toolId, action, hash } = check(shape, input)
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
}

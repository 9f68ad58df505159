/** A run of a trigger by request, as its tick or a message would start it. */
import { z } from 'zod'
import { check } from '../../core/check.ts'
import { AppError, invalidAt } from '../../core/errors.ts'
import { jsonTooBig, type Json } from '../../core/json.ts'
import { sql } from '../../store/db/sql.ts'
import { assertMay, type Ctx } from '../access/index.ts'
import type { Generation } from '../generations/index.ts'
import { startRun } from './start.ts'
import { fillTemplate } from './template.ts'
import { findTrigger, resourceOf } from './trigger.ts'

const shape = z.object({ triggerId: z.string(), body: z.custom<Json>().optional() })
const bodyLimits = { maxBytes: 256 * 1024, maxDepth: 100 }

/**
 * Starts a run now, with the rights of the caller, also of a disabled trigger. Actions `triggers:Get`, and
 * `generations:Start` on the agent. `body` stands for that of a message to a hook. Not idempotent.
 */
export async function startTrigger(
  ctx: Ctx,
  input: { triggerId: string; body?: unknown },
): Promise<Generation> {
  const { triggerId, body = {} } = check(shape, input)
  const row = await findTrigger(ctx.db, ctx, triggerId)
  await assertMay(ctx, 'triggers:Get', row.projectId, resourceOf(row.id))
  const fault = jsonTooBig(body, bodyLimits)
  if (fault) throw invalidAt(['input', 'body'], fault)
  const filled = row.kind === 'HOOK' ? fillTemplate(row.prompt, body) : { text: row.prompt }
  if ('missing' in filled)
    throw invalidAt(['input', 'body'], `has nothing at ${filled.missing}, which the template names`)
  return startRun(ctx, row, {
    key: null,
    prompt: filled.text,
    still: sql`true`,
    lost: () => new AppError('CONFLICT', 'This trigger was deleted meanwhile.', { conflictingId: row.id }),
  })
}

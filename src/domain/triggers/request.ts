/** A run of a trigger by request, as its tick or a message would start it. */
import { z } from 'zod'
import { AppError, invalidAt } from '../../core/errors.ts'
import { jsonTooBig } from '../../core/json.ts'
import { idOf, json } from '../../core/shapes.ts'
import { sql } from '../../store/db/sql.ts'
import { assertMay, operation } from '../access/index.ts'
import { generationPayload } from '../generations/index.ts'
import { startRun } from './start.ts'
import { fillTemplate } from './template.ts'
import { findTrigger, resourceOf } from './trigger.ts'

const bodyLimits = { maxBytes: 256 * 1024, maxDepth: 100 }

/** Not idempotent. */
export const startTrigger = operation({
  name: 'startTrigger',
  does: 'Starts a generation of a trigger now, with the rights of the caller, also of one that is disabled.',
  permission: ['triggers:Get', 'generations:Start'],
  input: z
    .object({
      triggerId: idOf('trigger'),
      body: json()
        .optional()
        .describe('What the template of a URL gets in place of the body of a message. Default: {}.'),
    })
    .describe('The trigger to start.'),
  payload: generationPayload,
  refuses: ['NOT_FOUND', 'CONFLICT', 'LIMITED'],
  async run(ctx, { triggerId, body = {} }) {
    const row = await findTrigger(ctx.db, ctx, triggerId)
    await assertMay(ctx, 'triggers:Get', row.projectId, resourceOf(row.id))
    const fault = jsonTooBig(body, bodyLimits)
    if (fault) throw invalidAt(['input', 'body'], fault)
    const filled = row.kind === 'HOOK' ? fillTemplate(row.prompt, body) : { text: row.prompt }
    if ('missing' in filled)
      throw invalidAt(['input', 'body'], `has nothing at ${filled.missing}, which the template names`)
    const generation = await startRun(ctx, row, {
      key: null,
      prompt: filled.text,
      still: sql`true`,
      lost: () => new AppError('CONFLICT', 'This trigger was deleted meanwhile.', { conflictingId: row.id }),
    })
    return { generation, callbackSecret: null }
  },
})

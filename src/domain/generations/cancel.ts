/** Cancels a generation: at once when nobody works on it, else as soon as the worker has heard. */
import { sql } from 'drizzle-orm'
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { atomically, query } from '../../store/db/database.ts'
import { assertMay, recordChange, type Ctx } from '../access/index.ts'
import { loadCallsOf } from '../tools/index.ts'
import { cancelChange } from './closing.ts'
import { commit } from './commit.ts'
import { isTerminal, type Generation, type StoredStatus } from './generation.ts'
import { findGeneration, loadGenerations } from './read.ts'

const shape = z.object({ generationId: z.string(), reason: text(1000).nullish() })

/**
 * Asks for the end of a generation. Action `generations:Cancel`. Idempotent; one that has ended stays as it is. A
 * running one ends when its worker has heard: the model's answer is cut off, a server call that may take effect is
 * heard out so that its outcome is known. Open client calls are settled as CANCELLED.
 */
export async function cancelGeneration(
  ctx: Ctx,
  input: { generationId: string; reason?: string | null },
): Promise<Generation> {
  const { generationId, reason } = check(shape, input)
  const { id, projectId } = await findGeneration(ctx, generationId)
  await assertMay(ctx, 'generations:Cancel', projectId, `generation/${id}`)
  const seq = await atomically(ctx.db, async (tx) => {
    const rows = await query<{ status: StoredStatus; epoch: number; asked: boolean; lastSeq: number }>(
      tx,
      sql`select status, epoch, cancel_requested_at is not null as asked, last_seq as "lastSeq"
        from generations where id = ${id} for update`,
    )
    const { status, epoch, asked, lastSeq } = rows[0]!
    if (isTerminal(status) || asked) return lastSeq
    await recordChange(tx, ctx, { projectId, action: 'generations:Cancel', resource: `generation/${id}` })
    const set = [sql`cancel_requested_at = now()`, sql`cancel_reason = ${reason ?? null}::text`]
    // A worker that holds the row is fenced by nothing here: it keeps the row and ends it itself.
    if (status === 'RUNNING') {
      await query(tx, sql`update generations set ${sql.join(set, sql`, `)} where id = ${id}`)
      return lastSeq
    }
    const change = cancelChange(await loadCallsOf(tx, [id]))
    return commit(tx, { id, epoch }, { ...change, set: [...change.set!, ...set] })
  })
  ctx.bell.ring([
    { kind: 'signal', name: 'cancel', id },
    { kind: 'news', generationId: id, projectId, seq },
  ])
  return (await loadGenerations(ctx.db, [id]))[0]!
}

/** Cancels generations: at once when no worker holds one, else its worker does it. */
import { idOf } from '../../core/shapes.ts'
import { z } from 'zod'
import { text } from '../../core/check.ts'
import { atomically, query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import type { Hint } from '../../store/pubsub/pubsub.ts'
import { parentLinkOf } from '../../store/work/owner.ts'
import { assertMay, operation, recordChange, inProject, projectOf } from '../access/index.ts'
import { loadCallsOf } from '../tool-calls/index.ts'
import { cancelChange } from './transaction/terminal.ts'
import { commit, type HeldRun } from './transaction/commit.ts'
import { generationPayload, isTerminal, type StoredStatus } from './generation.ts'
import { waitsForChild } from './nesting/deadline.ts'
import { findGeneration, loadGenerations } from './read.ts'
import { generationFilter, listToCancel } from './list.ts'

/**
 * A running one ends when its worker reads the request: the model request is aborted, a server call that may have effects is
 * allowed to finish, so that its outcome is known. Its child runs are cancelled too, and it ends after them. Open client calls
 * are settled as CANCELLED.
 */
export const cancelGeneration = operation({
  name: 'cancelGeneration',
  does: 'Requests the end of a generation and of all its child runs. Idempotent; a generation that has ended does not change.',
  permission: 'generations:Cancel',
  input: z
    .object({
      generationId: idOf('generation'),
      reason: text(1000).nullish().describe('The reason for people to read, at most 1,000 characters.'),
    })
    .describe('The generation to cancel.'),
  payload: generationPayload,
  refuses: ['NOT_FOUND'],
  isAction: ['generation'],
  async run(ctx, { generationId, reason }) {
    const { id, projectId, requestedBy: by } = await findGeneration(ctx, generationId)
    await assertMay(ctx, 'generations:Cancel', projectId, `generation/${id}`, { by })
    const hints = await atomically(ctx.db, async (tx) => {
      const asked = await askToEnd(tx, id, reason ?? null)
      if (asked.news)
        await recordChange(tx, ctx, { projectId, action: 'generations:Cancel', resource: `generation/${id}` })
      return asked.hints
    })
    ctx.pubsub.publish(hints)
    return { generation: (await loadGenerations(ctx.db, [id]))[0]!, callbackSecret: null }
  },
})

/**
 * Cancels one generation, in a transaction: at once when no worker holds it and no child run is open; else it records
 * the request, and the worker ends the generation. Idempotent; `news` says whether this was the first request.
 */
export async function askToEnd(
  tx: Database,
  id: string,
  reason: string | null,
): Promise<{ news: boolean; hints: Hint[] }> {
  const [row] = await query<RunToCancel>(
    tx,
    sql`
      select project_id as "projectId", status, epoch, cancel_requested_at is not null as asked,
        last_seq as "lastSeq", ${parentLinkOf}
      from generations
      where id = ${id}
      for update`,
  )
  const { projectId, status, asked, lastSeq } = row!
  const hintsOf = (seq: number, more: Hint[]): Hint[] => [
    { kind: 'signal', name: 'cancel', id },
    { kind: 'news', generationId: id, projectId, seq },
    ...more,
  ]
  if (isTerminal(status) || asked) return { news: false, hints: hintsOf(lastSeq, []) }
  const set = [sql`cancel_requested_at = now()`, sql`cancel_reason = ${reason}::text`]
  const calls = status === 'RUNNING' ? [] : await loadCallsOf(tx, [id])
  const waits = calls.some(waitsForChild)
  // The epoch is not bumped: a running worker keeps its lease and performs the cancellation itself.
  if (status === 'RUNNING' || waits) {
    const wake = waits ? sql`, status = 'QUEUED', wake_at = now()` : sql``
    await query(tx, sql`update generations set ${sql.join(set, sql`, `)} ${wake} where id = ${id}`)
    return { news: true, hints: hintsOf(lastSeq, [{ kind: 'work', table: 'generations' }]) }
  }
  const change = cancelChange(calls)
  const { seq, hints } = await commit(tx, { id, ...row! }, { ...change, set: [...change.set!, ...set] })
  return { news: true, hints: hintsOf(seq, hints) }
}

interface RunToCancel extends Omit<HeldRun, 'id'> {
  projectId: string
  status: StoredStatus
  asked: boolean
  lastSeq: number
}

/** The most generations that one request cancels. */
export const mostCancelled = 100

/** Each in a transaction of its own: when it fails, those before stay cancelled. Those that were asked to end are not found again. */
export const cancelGenerations = operation({
  name: 'cancelGenerations',
  does: `Requests the end of the oldest generations that match a filter and have not ended, at most ${mostCancelled}. Idempotent.`,
  permission: ['generations:List', 'generations:Cancel'],
  input: z
    .object({
      ...inProject,
      filter: generationFilter.describe(
        'The filter, as in the query generations; an empty one matches every generation.',
      ),
      reason: text(1000).nullish().describe('The reason for people to read, at most 1,000 characters.'),
    })
    .describe('The generations to cancel.'),
  payload: z
    .object({
      cancelled: z.int().describe('The number of generations whose end this request asked for.'),
      hasMore: z.boolean().describe('Whether other generations match: send the mutation again.'),
    })
    .describe('The number of generations that were asked to end.'),
  refuses: ['NOT_FOUND'],
  async run(ctx, given) {
    const { reason } = given
    const projectId = await projectOf(ctx, given.projectId)
    await assertMay(ctx, 'generations:Cancel', projectId, 'generation/*', { reached: true })
    const ids = await listToCancel(ctx, given, mostCancelled + 1)
    const chosen = ids.slice(0, mostCancelled)
    for (const generationId of chosen) await cancelGeneration(ctx, { generationId, reason })
    return { cancelled: chosen.length, hasMore: ids.length > chosen.length }
  },
})

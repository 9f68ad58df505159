/**
 * "Reject and stop": what a rejection ends beside its call, in the transaction of the verdict. A run with the runs that wait for
 * it; for a program that asks before it acts, the session that it names, by a refusal that stands.
 */
import { query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import type { Hint } from '../../store/pubsub/pubsub.ts'
import type { Owner } from '../../store/work/owner.ts'
import { mask } from '../../core/scrub.ts'
import { assertMay, recordChange, type Ctx } from '../access/index.ts'
import { loadCall } from '../tool-calls/index.ts'
import { currentArguments, shownArguments, type Approval } from './approval.ts'
import { insertGrant } from './grants.ts'

/** How long whatever else a session asks is refused, in seconds: a day, unless somebody revokes the grant before. */
const refusedSeconds = 24 * 60 * 60

/**
 * The runs that end with the run of the call, itself and all that wait for it: whoever said to stop wants none of them to go on.
 * FORBIDDEN for whoever may not cancel the topmost one. None for any other call: whoever may reject it may end what asked.
 */
export async function runsToEnd(
  ctx: Ctx,
  { generationId, projectId, requestedBy: by }: Approval,
): Promise<Owner[]> {
  if (generationId === null) return []
  const chain = await query<{ id: string }>(
    ctx.db,
    sql`with recursive chain as (
        select id, parent_id, depth from generations where id = ${generationId}
        union all
        select g.id, g.parent_id, g.depth from chain join generations as g on g.id = chain.parent_id
      )
      select id from chain order by depth desc`,
  )
  await assertMay(ctx, 'generations:Cancel', projectId, `generation/${chain.at(-1)!.id}`, { by })
  return chain.map(({ id }) => ({ table: 'generations', id, projectId }))
}

/**
 * Ends what asked, in the transaction that rejects its call: `runs`, of `runsToEnd`, must be locked. A run that a worker holds is
 * ended by that worker, or by the next one. What is no run, and names no session, has nothing to end. Returns the hints to publish
 * after the commit.
 */
export async function endWhatAsked(
  tx: Database,
  ctx: Ctx,
  approval: Approval,
  runs: readonly Owner[],
  root: string[],
): Promise<Hint[]> {
  if (runs.length > 0) return cancelChain(tx, ctx, approval, runs)
  const { session } = shownArguments(approval)
  if (typeof session !== 'string' || session === mask) return []
  const { kind } = await loadCall(tx, approval.toolCallId)
  if (kind !== 'client') return []
  await insertGrant(
    tx,
    ctx,
    approval,
    currentArguments(approval),
    {
      scope: 'SCHEMA',
      holder: 'CALLER',
      schema: { properties: { session: { const: session } }, required: ['session'] },
      expiresInSeconds: refusedSeconds,
    },
    [...root, 'stop'],
  )
  return []
}

/** As `cancelGeneration` does: the worker of each run ends it. */
async function cancelChain(
  tx: Database,
  ctx: Ctx,
  approval: Approval,
  runs: readonly Owner[],
): Promise<Hint[]> {
  const { id: approvalId, projectId, votes } = approval
  const ids = runs.map(({ id }) => id)
  const ended = await query<{ id: string }>(
    tx,
    sql`update generations
      set cancel_requested_at = now(),
        cancel_reason = ${votes.at(-1)!.reason}::text,
        wake_at = case when status = 'WAITING' then now() else wake_at end,
        status = case when status = 'WAITING' then 'QUEUED' else status end
      where id in ${ids} and cancel_requested_at is null and finished_at is null
      returning id`,
  )
  const resource = `generation/${ids.at(-1)!}`
  await recordChange(tx, ctx, { projectId, action: 'generations:Cancel', resource, details: { approvalId } })
  return [
    ...ended.map(({ id }): Hint => ({ kind: 'signal', name: 'cancel', id })),
    { kind: 'work', table: 'generations' },
  ]
}

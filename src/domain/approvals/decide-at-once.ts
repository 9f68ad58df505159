/**
 * The common verdict in one statement: judged by what was read, and written by a statement that locks what was judged and
 * proves that it is still so.
 */
import { jsonb } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { isUnavailable } from '../../store/db/storage-error.ts'
import type { ClaimedOwner } from '../../store/work/owner.ts'
import type { Slot } from '../../store/work/slots.ts'
import { lockValid, type Ctx } from '../access/index.ts'
import type { Approval, Vote } from './approval.ts'
import type { Ready } from './decision.ts'
import { outcomeOf, type Outcome } from './outcome.ts'
import { hasApproved } from './rights.ts'
import { voteOf, writeVerdict, type JudgedVerdict, type Proof, type WrittenVerdict } from './write-verdict.ts'

export interface AtOnce {
  /** Null: decide under the lock. Nothing was written then, unless `lost` says that it may have been. */
  decided: Approval | null
  /** The vote of a statement whose response was lost. */
  lost: Vote | null
}

const notSo: AtOnce = { decided: null, lost: null }

/**
 * Writes the verdict in one statement, if it is a plain one on an open approval and nothing that it was judged by changes
 * before it is written: edits, grants, calls of clients, and whatever would be refused are for `applyVerdict`. A call or
 * generation that goes on is claimed by the statement when this process has a free slot. The statement waits for no lock.
 */
export async function decideAtOnce(ctx: Ctx, ready: Ready): Promise<AtOnce> {
  const { approval, owner, seen } = ready
  if (!isPlain(ctx, ready)) return notSo
  const vote = voteOf(ctx, ready.given, new Date(seen.now))
  const votes = [...approval.votes, vote]
  const outcome = outcomeOf(approval, votes)
  const slot = wakes(ready, outcome) ? ctx.slots.take(owner.table, owner.projectId) : null
  const claim = slot && { epoch: seen.owner.epoch, leaseMs: ctx.limits.leaseMs }
  const verdict: JudgedVerdict = { approval, owner, votes, outcome, edit: null, dropped: [] }
  try {
    const written = await writeVerdict(ctx.db, ctx, verdict, proofOf(ctx, ready, claim))
    if (slot) runOrFree(slot, ready, written)
    if (!written) return notSo
    const isHint = claim ? (kind: string) => kind === 'news' : () => true
    ctx.pubsub.publish(written.hints.filter((hint) => isHint(hint.kind)))
    return { decided: written.approval, lost: null }
  } catch (error) {
    slot?.giveBack({ id: owner.id, epoch: seen.owner.epoch + 1 })
    if (!isUnavailable(error)) throw error
    return { decided: null, lost: vote }
  }
}

/** Whether nothing stands in the way of the verdict, as far as it was read. */
function isPlain(ctx: Ctx, { given, approval, seen, persons, edit }: Ready): boolean {
  const { status, onApprove, digest } = approval
  if (edit || given.grant || status !== 'PENDING' || seen.late) return false
  if (given.expectedDigest && given.expectedDigest !== digest) return false
  // Whether the tool has changed since decides what an approved call of a client is.
  return given.verdict === 'REJECT' || (onApprove === 'RUN' && !hasApproved(ctx, approval, persons))
}

/** Whether the verdict makes its owner due: a call of its own that may run, or a generation that waits. */
function wakes({ owner, seen }: Ready, { wake, call }: Outcome): boolean {
  if (wake !== 'now') return false
  return owner.table === 'tool_calls' ? call?.status === 'APPROVED' : seen.owner.status === 'WAITING'
}

/**
 * Locks, in the order of all writers, the owner with its root, the approval with its call, and the key; each only when
 * nobody else holds it, and when it is as it was judged.
 */
function proofOf(ctx: Ctx, { approval, owner, seen }: Ready, claim: Proof['claim']): Proof {
  const root = seen.owner.parent?.rootId
  const rows = root ? [owner.id, root] : [owner.id]
  const isDue = claim
    ? sql`and (id <> ${owner.id} or (status = ${seen.owner.status} and epoch = ${claim.epoch}::int))`
    : sql``
  const table = sql.raw(owner.table)
  const order = owner.table === 'generations' ? sql`depth desc, id` : sql`id`
  const key = lockValid(ctx.principal, sql`q`)
  return {
    locks: sql`o as (
        select id
        from ${table}
        where id in ${rows} ${isDue}
        order by ${order}
        for update skip locked
      ),
      q as (
        select p.id
        from approvals as p
        join tool_calls as t on t.id = p.tool_call_id
        where p.id = ${approval.id}
          and p.status = 'PENDING'
          and p.expires_at > now()
          and p.digest = ${approval.digest}
          and p.votes = ${jsonb(approval.votes)}
          and t.approval_id = p.id
          and t.status = 'AWAITING_APPROVAL'
          and (select count(*) from o) = ${rows.length}::int
        for update of p, t skip locked
      ),
      k as (${key.relation})`,
    condition: key.condition,
    claim,
  }
}

function runOrFree(slot: Slot, { owner, seen }: Ready, written: WrittenVerdict | null): void {
  if (!written) return slot.free()
  const { id, projectId } = owner
  const { epoch, parent } = seen.owner
  const row: ClaimedOwner = {
    id,
    projectId,
    epoch: epoch + 1,
    was: 'QUEUED',
    lastSeq: written.owner.seq ?? 0,
    parent,
  }
  slot.run(row)
}

/**
 * The common verdict in one statement: judged by what was read, and written by a statement that locks what was judged and
 * proves that it is still so.
 */
import { jsonb } from '../../store/db/database.ts'
import { AppError } from '../../core/errors.ts'
import { StaleReadError } from '../basis/index.ts'
import { sharingCommits } from '../../store/db/fast-statements.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { isOutage } from '../../store/db/storage-error.ts'
import type { Slot } from '../../store/work/worker.ts'
import { lockValid, type Ctx } from '../access/index.ts'
import type { ToolCall } from '../tool-calls/index.ts'
import { codeOf } from '../tools/index.ts'
import type { Approval } from './approval.ts'
import type { DecidedOwner, OwnerSnapshot } from './run-state.ts'
import type { PreparedVerdict } from './prepare-verdict.ts'
import { hasVote, judgeVerdict, type JudgedVerdict, type Outcome } from './judge-verdict.ts'
import type { VerdictSnapshot } from './read.ts'
import { writeVerdict, type Proof, type WrittenVerdict } from './write-verdict.ts'

/**
 * Decides one plain verdict by what was read, in one statement that writes it if nothing that it was judged by has changed. A
 * call or generation that goes on is claimed by the statement when this process has a free slot. The statement waits for no
 * lock. Null, with nothing written, when the verdict is refused, is not plain, or the proof does not hold: it is the plain
 * way's. When the connection does not tell whether it was written, `decideUnderLock` does.
 */
export async function decideAtOnce(
  ctx: Ctx,
  prepared: readonly PreparedVerdict[],
  decideUnderLock: (ready: PreparedVerdict[]) => Promise<Approval[]>,
): Promise<Approval | null> {
  const [ready, ...others] = prepared
  const verdict = ready && others.length === 0 && isPlain(ready) ? judgeSnapshot(ctx, ready) : null
  if (!ready || !verdict) return null
  const { owner, seen } = ready
  const slot = wakes(ready, verdict.outcome) ? ctx.slots.take(owner.table, owner.projectId) : null
  const claim = slot && { epoch: seen.owner.epoch, leaseMs: ctx.limits.leaseMs }
  try {
    const written = await writeVerdict(sharingCommits(ctx.db), ctx, verdict, proofOf(ctx, ready, claim))
    if (!written) {
      slot?.free()
      return null
    }
    slot?.run(claimedRow(ready, verdict, written))
    const isHint = claim ? (kind: string) => kind === 'news' : () => true
    ctx.pubsub.publish(written.hints.filter((hint) => isHint(hint.kind)))
    return written.approval
  } catch (error) {
    if (!isOutage(error)) {
      slot?.free()
      throw error
    }
    // After that the statement is written, or never will be.
    const decided = decideUnderLock([{ ...ready, lost: verdict.votes.at(-1)! }])
    if (slot) void afterLoss(slot, ready, wroteVote(decided, verdict)).catch(() => {})
    return (await decided)[0]!
  }
}

/** Whether the verdict is one that a statement can prove: edits, grants, ends of runs and calls of clients need more. */
function isPlain({ given, approval, edit }: PreparedVerdict): boolean {
  // Whether the tool has changed since decides what an approved call of a client is.
  return !edit && !given.grant && !given.stop && (given.verdict === 'REJECT' || approval.onApprove === 'RUN')
}

/** What a plain verdict comes to by what was read; null when it is refused, which what is newer may not refuse. */
function judgeSnapshot(ctx: Ctx, ready: PreparedVerdict): JudgedVerdict | null {
  const { approval, seen, persons } = ready
  const present = { approval, asExecuted: approval, late: seen.late, now: seen.now, persons }
  try {
    return judgeVerdict(ctx, ready, present)
  } catch (error) {
    if (error instanceof AppError || error instanceof StaleReadError) return null
    throw error
  }
}

/** Whether the statement without a response has written the verdict, and not the second one; null when nobody knows. */
async function wroteVote(decided: Promise<Approval[]>, { votes }: JudgedVerdict): Promise<boolean | null> {
  const [approval] = await decided.catch(() => [])
  return approval ? hasVote(approval, votes.at(-1)!) : null
}

/**
 * What becomes of the owner that the statement without a response may have claimed. If it has written nothing, another worker
 * may hold the owner under the same epoch.
 */
async function afterLoss(
  slot: Slot,
  { owner, seen }: PreparedVerdict,
  writing: Promise<boolean | null>,
): Promise<void> {
  if (await writing) slot.giveBack({ id: owner.id, epoch: seen.owner.epoch + 1 })
  else slot.free()
}

/** Whether the verdict makes its owner due: a call of its own that may run, or a generation that waits. */
function wakes({ owner, seen }: PreparedVerdict, { wake, call }: Outcome): boolean {
  if (wake !== 'now') return false
  return owner.table === 'tool_calls' ? call?.status === 'APPROVED' : seen.owner.status === 'WAITING'
}

/**
 * Locks, in the order of all writers, the owner with its root, the approval with its call, and the key; each only when
 * nobody else holds it, and when it is as it was judged.
 */
function proofOf(ctx: Ctx, { approval, owner, seen }: PreparedVerdict, claim: Proof['claim']): Proof {
  const root = seen.owner.parent?.rootId
  const rows = root ? [owner.id, root] : [owner.id]
  const isDue = claim ? sql`and (id <> ${owner.id} or (${isAsSeen(seen)}))` : sql``
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
      ${key.relations}`,
    condition: key.condition,
    claim,
  }
}

/** Nobody has claimed the owner since it was read; a run that is handed over is as it was. */
function isAsSeen({ owner: { status, epoch }, goesOn }: VerdictSnapshot): SQL {
  const run = goesOn?.row
  const isUnchanged = run && sql`and last_seq = ${run.lastSeq}::int and cancel_requested_at is null`
  return sql`status = ${status} and epoch = ${epoch}::int ${isUnchanged ?? sql``}`
}

/** The owner as the statement has claimed it. */
function claimedRow(
  { owner: { id, projectId }, seen }: PreparedVerdict,
  { outcome }: JudgedVerdict,
  { approval, owner: now }: WrittenVerdict,
): DecidedOwner {
  const { epoch, parent } = seen.owner
  const seq = now.seq ?? 0
  const row: DecidedOwner = { id, projectId, epoch: epoch + 1, was: 'QUEUED', lastSeq: seq, parent }
  const after = { seq, now: now.now }
  if (seen.goesOn) row.claimed = afterVerdict(seen.goesOn, approval, outcome, after)
  return row
}

/** The run or call after the verdict, whose statement has claimed it. `now`: time of the transaction, in milliseconds since 1970. */
function afterVerdict(
  { row, ...state }: OwnerSnapshot,
  approval: Approval,
  { call: decided }: Outcome,
  written: { seq: number; now: number },
): OwnerSnapshot {
  const now = new Date(written.now)
  const after = (call: ToolCall) => (call.id === approval.toolCallId ? decidedCall(call, decided, now) : call)
  const agreed = decided?.status === 'APPROVED' ? [...state.agreed, approval] : state.agreed
  const decidedState = { ...state, calls: state.calls.map(after), agreed }
  return row
    ? { ...decidedState, row: { ...row, status: 'RUNNING', lastSeq: written.seq } }
    : { ...decidedState, row }
}

function decidedCall(call: ToolCall, decided: Outcome['call'], now: Date): ToolCall {
  if (!decided) return call
  if (!('result' in decided)) return { ...call, status: decided.status }
  const { status, result } = decided
  return {
    ...call,
    status,
    result,
    isError: result.isError,
    errorCode: codeOf(result),
    settledAt: now,
  }
}

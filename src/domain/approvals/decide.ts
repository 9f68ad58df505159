/** Deciding: the first verdict wins, exactly once, whoever else clicks, and whatever crashes afterwards. */
import { eq, sql, type SQL } from 'drizzle-orm'
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { AppError, invalid, invalidAt } from '../../core/errors.ts'
import { hashJson, type JsonObject } from '../../core/json.ts'
import { atomically, jsonb, query, type Database } from '../../store/db/database.ts'
import { approvals } from '../../store/db/tables/approvals.ts'
import type { Hint } from '../../store/events/bell.ts'
import { lockOwners, ownerOf, tellOwner, type Owner } from '../../store/work/owner.ts'
import { assertMay, denied, recordChange, type Ctx } from '../access/index.ts'
import { loadVersion, maskedPaths, prepareCall } from '../tools/index.ts'
import { approvalOf, currentArguments, verdicts, type Approval, type Vote } from './approval.ts'
import { digestOf } from './ask.ts'
import { grantShape, insertGrant, type GrantInput } from './grants.ts'
import { outcomeOf, type Outcome } from './outcome.ts'
import { findApproval } from './read.ts'

const maxBatch = 50

const decision = z.object({
  approvalId: z.string(),
  verdict: z.enum(verdicts),
  reason: text(2000).nullish(),
  note: text(2000).nullish(),
  arguments: z.unknown().optional(),
  expectedDigest: z.string().max(100).nullish(),
  grant: grantShape.nullish(),
})

export interface DecideApprovalInput {
  approvalId: string
  verdict: Approval['votes'][number]['verdict']
  reason?: string | null
  note?: string | null
  arguments?: unknown
  expectedDigest?: string | null
  grant?: GrantInput | null
}

/** A checked decision, ready to be tried under the lock. */
interface Ready {
  given: z.output<typeof decision>
  approval: Approval
  owner: Owner
  edit: Edit | null
  /** Where its input stands, for faults. */
  root: string[]
}

/** What an approver put in place of the arguments. */
interface Edit {
  /** As the model or caller would have written them, without presets. */
  own: JsonObject
  merged: JsonObject
  /** What differs from what was asked. */
  keys: string[]
  digest: string
  masked: string[][]
}

/**
 * Gives a verdict. Action `approvals:Decide` on the tool; the gate may ask for a role, and for somebody else than the
 * requester. APPROVE with `arguments` edits them: they are validated and the presets merged anew; INVALID leaves the
 * approval pending. One REJECT settles it, an APPROVE once the quorum is reached; an edit starts the votes anew. Verdict,
 * call, event, audit, grant and the wake of whoever waits are one transaction. APPROVAL_ALREADY_DECIDED and
 * APPROVAL_EXPIRED for whoever comes later, CONFLICT for a second vote of the same key, for a voided approval and
 * when `expectedDigest` is not what is being asked any more.
 */
export async function decideApproval(ctx: Ctx, input: DecideApprovalInput): Promise<Approval> {
  const ready = await prepare(ctx, input, ['input'])
  const [done] = await decideAll(ctx, [ready])
  return done!
}

/** Several decisions, all or none: the first that cannot be made refuses the others too, and names its place. */
export async function decideApprovals(
  ctx: Ctx,
  input: { decisions: DecideApprovalInput[] },
): Promise<Approval[]> {
  const { decisions } = input
  if (decisions.length === 0 || decisions.length > maxBatch)
    throw invalidAt(['input', 'decisions'], `must have 1 to ${maxBatch} entries`)
  const ready: Ready[] = []
  for (const [i, one] of decisions.entries()) {
    const path = ['input', 'decisions', String(i)]
    const made = await prepare(ctx, one, path)
    if (ready.some((other) => other.approval.id === made.approval.id))
      throw invalidAt([...path, 'approvalId'], 'is in this batch twice')
    ready.push(made)
  }
  return decideAll(ctx, ready)
}

/** Everything that can be said without the lock: shape, permission, roles, edited arguments. */
async function prepare(ctx: Ctx, input: unknown, root: string[]): Promise<Ready> {
  const given = check(decision, input, root)
  const approval = await findApproval(ctx, given.approvalId)
  const { projectId, toolId } = approval
  const what = { action: 'approvals:Decide', projectId, resource: `tool/${toolId}` } as const
  await assertMay(ctx, what.action, projectId, what.resource)
  const refusal = whyNot(ctx, approval)
  if (refusal) throw await denied(ctx, what, refusal)
  if (given.verdict === 'REJECT')
    for (const name of ['arguments', 'grant'] as const)
      if (given[name] !== undefined && given[name] !== null)
        throw invalidAt([...root, name], 'goes with the verdict APPROVE only')
  const edit =
    given.arguments === undefined || given.arguments === null
      ? null
      : await editOf(ctx, approval, given, root)
  return { given, approval, owner: ownerOf({ ...approval, id: approval.toolCallId }), edit, root }
}

function whyNot(ctx: Ctx, { requirement, requestedBy, escalatedAt }: Approval): string | null {
  const { id, role } = ctx.principal
  if (requirement.excludeRequester && requestedBy === id)
    return 'Who asked for this call may not decide about it: another key must.'
  const missing = requirement.approvers.find(
    (list) => !list.some((one) => one === role) && !(escalatedAt !== null && role === 'admin'),
  )
  return missing ? `Only keys with the role ${missing.join(' or ')} decide about this call.` : null
}

async function editOf(ctx: Ctx, approval: Approval, given: Ready['given'], root: string[]): Promise<Edit> {
  const { toolId, toolVersion, requestedBy, requirement } = approval
  const definition = await loadVersion(ctx.db, toolId, toolVersion)
  const prepared = prepareCall(definition, given.arguments)
  if (!prepared.ok)
    throw invalid(prepared.issues.map((issue) => ({ ...issue, path: [...root, ...issue.path] })))
  const { merged, arguments: own } = prepared
  const before = approval.arguments
  const keys = [...new Set([...Object.keys(before), ...Object.keys(merged)])].filter(
    (key) => hashJson(before[key]) !== hashJson(merged[key]),
  )
  const digest = digestOf({ toolId, toolVersion, arguments: merged, requestedBy, requirement })
  // What was asked first stays on show beside it.
  const masked = [...(approval.masked ?? []), ...maskedPaths(definition.inputSchema, merged)]
  return { own, merged, keys, digest, masked }
}

async function decideAll(ctx: Ctx, ready: Ready[]): Promise<Approval[]> {
  const done = await atomically(ctx.db, async (tx) => {
    await lockOwners(
      tx,
      ready.map((one) => one.owner),
    )
    const hints: Hint[] = []
    const decided: Approval[] = []
    for (const one of ready) {
      const made = await decide(tx, ctx, one)
      hints.push(...made.hints)
      decided.push(made.approval)
    }
    return { decided, hints }
  })
  ctx.bell.ring(done.hints)
  return done.decided
}

/** One decision under the owner's lock. */
async function decide(tx: Database, ctx: Ctx, ready: Ready): Promise<{ approval: Approval; hints: Hint[] }> {
  const { given, owner, root } = ready
  const [row] = await tx
    .select({
      row: approvals,
      late: sql<boolean>`${approvals.expiresAt} <= now()`,
      at: sql<string>`to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    })
    .from(approvals)
    .where(eq(approvals.id, ready.approval.id))
  const approval = approvalOf(row!.row)
  assertOpen(approval, row!.late)
  const edit = changes(ready.edit, approval) ? ready.edit : null
  if (given.expectedDigest && given.expectedDigest !== approval.digest)
    throw conflict(
      approval,
      'The arguments were edited since you read them. Read the approval again and decide then.',
    )
  if (given.verdict === 'APPROVE' && !edit && approval.votes.some((vote) => vote.by === ctx.principal.id))
    throw conflict(approval, 'This key has approved already; somebody else must, too.')
  const vote: Vote = {
    verdict: given.verdict,
    by: ctx.principal.id,
    byName: ctx.principal.name,
    at: row!.at,
    from: ctx.remoteAddress,
    reason: given.reason || null,
    note: given.note || null,
  }
  const votes = edit ? [vote] : [...approval.votes, vote]
  const outcome = outcomeOf(approval, votes)
  await write(tx, approval, votes, outcome, edit)
  if (given.grant && outcome.status !== 'APPROVED')
    throw invalidAt([...root, 'grant'], 'goes with the vote that reaches the quorum')
  if (given.grant) {
    const merged = edit?.merged ?? currentArguments(approval)
    await insertGrant(tx, ctx, approval, merged, given.grant, [...root, 'grant'])
  }
  await recordChange(tx, ctx, {
    projectId: approval.projectId,
    action: 'approvals:Decide',
    resource: `tool/${approval.toolId}`,
    details: {
      approvalId: approval.id,
      toolCallId: approval.toolCallId,
      verdict: given.verdict,
      ...(edit ? { editedKeys: edit.keys } : {}),
    },
  })
  const hints = await tellOwner(tx, owner, outcome.events, outcome.wake)
  return { approval: await reread(tx, approval.id), hints }
}

/** Whoever repeats what stands there agrees to it; whoever puts the first arguments back edits once more. */
function changes(edit: Edit | null, approval: Approval): boolean {
  return edit !== null && hashJson(edit.merged) !== hashJson(currentArguments(approval))
}

function assertOpen(approval: Approval, late: boolean): void {
  const { status, votes, voidReason } = approval
  if (status === 'EXPIRED' || (status === 'PENDING' && late))
    throw new AppError(
      'APPROVAL_EXPIRED',
      `The time for this approval was over at ${approval.expiresAt.toISOString()}; the call was rejected.`,
      { conflictingId: approval.id },
    )
  if (status === 'VOIDED') throw conflict(approval, `This approval was voided (${voidReason ?? ''}).`)
  if (status === 'PENDING') return
  const last = votes.at(-1)
  throw new AppError(
    'APPROVAL_ALREADY_DECIDED',
    `Somebody was faster: ${last?.byName ?? 'another key'} decided ${last?.verdict ?? ''} at ${last?.at ?? ''}.`,
    { conflictingId: approval.id },
  )
}

function conflict(approval: Approval, message: string): AppError {
  return new AppError('CONFLICT', message, { conflictingId: approval.id })
}

/** Approval and call, in one statement. */
async function write(
  tx: Database,
  approval: Approval,
  votes: Vote[],
  outcome: Outcome,
  edit: Edit | null,
): Promise<void> {
  const decided = outcome.status !== 'PENDING'
  const edited: SQL = edit
    ? sql`, edited_arguments = ${jsonb(edit.merged)}, digest = ${edit.digest}, masked = ${jsonb(edit.masked)}`
    : sql``
  const closed = decided ? sql`, status = ${outcome.status}, settled_at = now(), wake_at = null` : sql``
  const call = outcome.call
  const changed: SQL[] = [
    ...(edit
      ? [
          sql`arguments = ${jsonb(edit.own)}`,
          sql`edited_keys = ${jsonb(edit.keys)}`,
          sql`masked = ${jsonb(edit.masked)}`,
        ]
      : []),
    ...(call ? [sql`status = ${call.status}`] : []),
    ...(call?.waitMs ? [sql`deadline_at = now() + ${call.waitMs}::float8 * interval '1 millisecond'`] : []),
    ...(call?.result
      ? [
          sql`result = ${jsonb(call.result)}`,
          sql`is_error = ${call.result.isError}::boolean`,
          sql`error_code = ${call.errorCode}::text`,
          sql`settled_at = now()`,
        ]
      : []),
  ]
  const calls =
    changed.length === 0
      ? sql``
      : sql`, c as (update tool_calls set ${sql.join(changed, sql`, `)}
          where id = ${approval.toolCallId} and approval_id = ${approval.id} and status = 'AWAITING_APPROVAL')`
  await query(
    tx,
    sql`with a as (update approvals set votes = ${jsonb(votes)} ${edited} ${closed} where id = ${approval.id})
      ${calls} select 1`,
  )
}

async function reread(tx: Database, id: string): Promise<Approval> {
  const [row] = await tx.select().from(approvals).where(eq(approvals.id, id))
  return approvalOf(row!)
}

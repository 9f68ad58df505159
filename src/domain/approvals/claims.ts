/** "I am on it": a claim tells others who is deciding. It never blocks a verdict, and ends by itself. */
import { z } from 'zod'
import { idOf } from '../../core/shapes.ts'
import { prove } from '../basis/index.ts'
import { writtenRows } from '../../store/db/rows.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { approvals } from '../../store/db/tables/approvals.ts'
import { assertStillValid, basisOf, entryOf, operation, type Ctx } from '../access/index.ts'
import { insertEntries } from '../audit/index.ts'
import {
  approvalClaimed,
  approvalReleased,
  insertProjectEvents,
  type RequestedEvent,
  withRequester,
} from '../events/index.ts'
import { approvalOf, approvalPayload, claimOf, type Approval } from './approval.ts'
import { assertOpen, conflict, findDecidable, readNow, whatOf } from './read.ts'
import { hasApproved } from './rights.ts'

/** How long a claim holds without being renewed. */
const claimMinutes = 10

const claimIsOver = sql`(p.claim is null or (p.claim->>'until')::timestamptz <= clock_timestamp())`

/** With the rules of its gate. CONFLICT also for a person who has approved already. */
export const claimApproval = operation({
  name: 'claimApproval',
  does:
    'Shows other approvers for 10 minutes that the caller is deciding an approval; a repeat renews the claim. A claim blocks no ' +
    'verdict; ConflictError names the approver of an earlier one.',
  permission: 'approvals:Decide',
  input: z.object({ approvalId: idOf('approval') }).describe('The approval that the caller is deciding.'),
  payload: approvalPayload,
  refuses: ['NOT_FOUND', 'APPROVAL_ALREADY_DECIDED', 'APPROVAL_EXPIRED', 'CONFLICT'],
  async run(ctx, { approvalId }) {
    const { approval, isLate, persons } = await findDecidable(ctx, approvalId)
    assertOpen(approval, isLate)
    if (hasApproved(ctx, approval, persons))
      throw conflict(
        approval,
        'The person of this key has approved already; another person must approve, too.',
      )
    const { id: by, name: byName } = ctx.principal
    const claim = sql`jsonb_build_object(
      'by', ${by}::text, 'byName', ${byName}::text, 'at', clock_timestamp(),
      'until', clock_timestamp() + ${claimMinutes}::int * interval '1 minute'
    )`
    // Whoever has voted is not deciding any more.
    const hasVoted = sql`exists (
      select 1 from jsonb_array_elements(p.votes) as vote
      where vote->>'by' = p.claim->>'by' and (vote->>'at')::timestamptz >= (p.claim->>'at')::timestamptz
    )`
    const isFree = sql`(${claimIsOver} or p.claim->>'by' = ${by} or ${hasVoted})`
    const event = approvalClaimed({ ...factsOf(approval), claimedBy: by })
    const written = await write(ctx, approval, { claim, when: isFree, event, details: { claimed: true } })
    return { approval: written ?? (await refuse(ctx, approval)) }
  },
})

/** With the rules of its gate. CONFLICT for the claim of somebody else. */
export const releaseApproval = operation({
  name: 'releaseApproval',
  does: 'Gives up a claim of the caller. Without a claim it changes nothing.',
  permission: 'approvals:Decide',
  input: z
    .object({ approvalId: idOf('approval') })
    .describe('The approval that the caller is not deciding any more.'),
  payload: approvalPayload,
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(ctx, { approvalId }) {
    const { approval } = await findDecidable(ctx, approvalId)
    const { id: by } = ctx.principal
    const isMine = sql`p.claim->>'by' = ${by} and not ${claimIsOver}`
    const event = approvalReleased({ ...factsOf(approval), claimedBy: by })
    const change = { claim: sql`null::jsonb`, when: isMine, event, details: { claimed: false } }
    const written = await write(ctx, approval, change)
    if (written) return { approval: written }
    await assertStillValid(ctx.db, ctx.principal)
    const { approval: now } = await readNow(ctx, ctx.db, approval.id)
    const held = claimOf(now, ctx.clock.now())
    if (held && held.by !== by) throw claimedBy(now, held.byName)
    return { approval: now }
  },
})

function factsOf({ id, toolCallId, runtimeName }: Approval) {
  return { approvalId: id, toolCallId, name: runtimeName }
}

interface Change {
  claim: SQL
  /** A condition on the row `p`. */
  when: SQL
  event: RequestedEvent
  details: { claimed: boolean }
}

/** Null, with nothing written, when the approval is not open, `when` does not hold, or the caller was revoked. */
async function write(
  ctx: Ctx,
  { id, projectId, toolId, toolCallId, requestedBy }: Approval,
  { claim, when, event, details }: Change,
): Promise<Approval | null> {
  const entry = entryOf(ctx, {
    ...whatOf({ projectId, toolId }),
    details: { approvalId: id, toolCallId, ...details },
  })
  const [row] = await writtenRows(ctx.db, approvals, [
    sql`g as (
      update approvals as p
      set claim = ${claim}
      where p.id = ${id} and p.status = 'PENDING' and p.expires_at > clock_timestamp()
        and ${when} and ${prove(basisOf(ctx.principal))!}
      returning p.*
    )`,
    sql`e as (${insertProjectEvents(projectId, withRequester(requestedBy, [event]), sql`g`)})`,
    sql`l as (${insertEntries([entry])})`,
  ])
  if (!row) return null
  ctx.pubsub.publish([{ kind: 'news', projectId, generationId: null, seq: null }])
  return approvalOf(row)
}

/** Why a claim was not written. */
async function refuse(ctx: Ctx, { id }: Approval): Promise<never> {
  await assertStillValid(ctx.db, ctx.principal)
  const { approval, isLate } = await readNow(ctx, ctx.db, id)
  assertOpen(approval, isLate)
  throw claimedBy(approval, approval.claim?.byName ?? 'Somebody')
}

function claimedBy(approval: Approval, name: string) {
  return conflict(approval, `${name} is on it. A verdict is possible all the same.`)
}

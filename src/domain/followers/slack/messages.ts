/** Brings the message of an approval in line with the approval: posts it once, and updates it when it is out of date. */
import { eq } from 'drizzle-orm'
import { asText } from '../../../core/json.ts'
import { shortText } from '../../../core/text.ts'
import { query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { slackMessages } from '../../../store/db/tables/verdicts.ts'
import type { Services } from '../../access/index.ts'
import { loadApprovals, type Approval } from '../../approvals/index.ts'
import { proposedCallable } from '../../tools/index.ts'
import { loadCall } from '../../tool-calls/index.ts'
import type { SendGuard } from '../follower.ts'
import { callSlack, type SlackFailure } from './api.ts'
import { messageOf, stateOf, type MessageFacts } from './blocks.ts'
import type { HeldIntegration } from './integration.ts'

/**
 * Shows each approval as it is now. Reads the row, so that the same news twice, or old news, costs no request. A
 * message is known by the row that is written right after it was posted: when the process dies between the two, or the
 * answer of Slack is lost, the question is posted again. Returns the first failure that ends the round, else null.
 */
export async function showApprovals(
  services: Services,
  integration: HeldIntegration,
  ids: readonly string[],
  guard: SendGuard,
): Promise<SlackFailure | null> {
  for (const approval of await loadApprovals(services.db, ids)) {
    if (approval.projectId !== integration.projectId) continue
    // Nobody decides it: whose login is missing, logs in on the page.
    if (approval.requirement.loginOf) continue
    const failure = await showOne(services, integration, approval, guard)
    if (failure && failure.kind !== 'never') return failure
    if (failure)
      services.log.warn(
        { approvalId: approval.id, error: failure.error },
        'Slack refused the message of an approval for good',
      )
  }
  return null
}

async function showOne(
  services: Services,
  integration: HeldIntegration,
  approval: Approval,
  guard: SendGuard,
): Promise<SlackFailure | null> {
  const { db } = services
  const [message] = await db.select().from(slackMessages).where(eq(slackMessages.approvalId, approval.id))
  const state = stateOf(approval)
  if (message?.shown === state || (!message && approval.status !== 'PENDING')) return null
  const content = messageOf(await shownOf(services, integration, approval))
  if (!message) return post(services, integration, approval, content, guard)
  const { channel, ts } = message
  const answer = await callSlack(
    services,
    integration.token,
    'chat.update',
    { ...content, channel, ts },
    guard,
  )
  // A message that cannot be changed any more keeps its text; its buttons still answer with a sentence.
  if (!answer.ok && (answer.kind === 'later' || answer.kind === 'token' || answer.kind === 'withheld'))
    return answer
  await db.update(slackMessages).set({ shown: state }).where(eq(slackMessages.approvalId, approval.id))
  return null
}

async function post(
  services: Services,
  { id, projectId, channel, token }: HeldIntegration,
  approval: Approval,
  content: ReturnType<typeof messageOf>,
  guard: SendGuard,
): Promise<SlackFailure | null> {
  const answer = await callSlack(services, token, 'chat.postMessage', { ...content, channel }, guard)
  if (!answer.ok) return answer
  const ts = shortText(asText(answer.body['ts'] ?? ''), 100)
  // Slack names the channel of a direct message by another id than it was given.
  const posted = typeof answer.body['channel'] === 'string' ? shortText(answer.body['channel'], 100) : channel
  await services.db
    .insert(slackMessages)
    .values({
      approvalId: approval.id,
      projectId,
      integrationId: id,
      channel: posted,
      ts,
      shown: stateOf(approval),
    })
    .onConflictDoNothing()
  return null
}

/**
 * Notes the message in which somebody pressed a button, if none is known: the answer to its post was lost, or is on its way. What
 * it shows is not known, so it is updated next. Idempotent.
 */
export async function notePressed(
  db: Database,
  { id: integrationId, projectId }: Pick<HeldIntegration, 'id' | 'projectId'>,
  approvalId: string,
  place: { channel: string; ts: string },
): Promise<void> {
  const row = { approvalId, projectId, integrationId, ...place, shown: '' }
  await db.insert(slackMessages).values(row).onConflictDoNothing()
}

async function shownOf(
  services: Services,
  { showArguments }: HeldIntegration,
  approval: Approval,
): Promise<MessageFacts> {
  const { db, publicUrl } = services
  const destructive = approval.status === 'PENDING' && (await isDestructive(services, approval))
  const [row] = await query<Pick<MessageFacts, 'agentName' | 'requesterName' | 'refusesUntilMs'>>(
    db,
    sql`select (select name from agents where id = ${approval.agentId}) as "agentName",
      coalesce(
        (select name from api_keys where id = ${approval.requestedBy}),
        (select name from subjects where id = ${approval.requestedBy})
      ) as "requesterName",
      (
        select max(extract(epoch from expires_at) * 1000)::float8 from grants
        where tool_id = ${approval.toolId} and approval_id = ${approval.id} and max_uses = 0 and revoked_at is null
      ) as "refusesUntilMs"`,
  )
  return { ...row!, approval, destructive, showArguments, link: `${publicUrl()}/approvals/${approval.id}` }
}

/** Whether the operator, or the tool itself, calls it destructive; also when it cannot be found any more. */
async function isDestructive(services: Services, approval: Approval): Promise<boolean> {
  const callable = await proposedCallable(services, await loadCall(services.db, approval.toolCallId))
  return callable?.annotations.destructiveHint ?? callable === null
}

/** Deletes messages of long ago, whose questions have ended: none lasts longer than a week. */
export async function forgetOldMessages(db: Database): Promise<void> {
  await query(db, sql`delete from slack_messages where created_at < now() - interval '30 days'`)
}

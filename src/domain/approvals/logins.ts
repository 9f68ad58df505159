/**
 * Questions to a person who must log in at the server of a tool before a call that is made for them can run. They are approvals
 * that nobody decides: the login does.
 */
import type { JsonObject } from '../../core/json.ts'
import { atomically, query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { lockOwners, ownerOf } from '../../store/work/owner.ts'
import { exchangesSignIns, isSignedIn, type Services } from '../access/index.ts'
import { askLogin, loadCall, type Proof, type ToolCall } from '../tool-calls/index.ts'
import { withAttachments, type Callable } from '../tools/index.ts'
import { insertApprovals, newApproval, requestEvent, type NewApproval } from './ask.ts'
import { outcomeOf } from './judge-verdict.ts'
import { loadApprovals } from './read.ts'
import { writeVerdict } from './write-verdict.ts'

/** How long a person has to log in, where no gate of the tool says how long a question waits, in seconds. */
const loginSeconds = 15 * 60

/** The question for a call that needs the login of this person. */
export function loginQuestion(
  services: Pick<Services, 'masterKey'>,
  call: ToolCall,
  { tool, merged, person }: { tool: Callable; merged: JsonObject; person: string },
): NewApproval {
  return newApproval(services, {
    toolCallId: call.id,
    tool,
    merged: withAttachments(merged, call.attachments),
    requirement: {
      timeoutSeconds: tool.gate?.timeoutSeconds ?? loginSeconds,
      quorum: 1,
      excludeRequester: false,
      approvers: [],
      escalateAfterSeconds: null,
      loginOf: person,
    },
    onApprove: 'RUN',
    clientTimeoutMs: null,
    requestedBy: call.requestedBy,
    actsFor: call.actsFor,
  })
}

/** What the question changes: parts of a statement, as `changesOfDrift` has them. An approval that was given before stays. */
export function changesOfLogin(
  call: ToolCall,
  asked: NewApproval,
  how: { requestHash: string | null; proof: Proof; isOwnRow: boolean },
) {
  const { version: toolVersion, definitionHash } = asked.tool
  const now = { approvalId: asked.id, toolVersion, definitionHash }
  return {
    call: askLogin(call.id, now, how.requestHash, how.proof, how.isOwnRow),
    approvals: [insertApprovals([asked])],
    events: [requestEvent(asked)],
  }
}

const isDue = sql`p.status = 'PENDING' and p.wake_at <= now() and p.expires_at > now()
  and p.requirement->>'loginOf' is not null`
/** Where the sign-in of the person is exchanged, there must be one. */
const hasLogin = sql`exists (
    select 1 from person_logins as l
    join upstreams as u on u.id = l.upstream_id
    where l.upstream_id = p.tool_id and l.person = p.requirement->>'loginOf' and l.connected_at is not null
      and (not ${exchangesSignIns} or ${isSignedIn(sql`l.person`)})
  )`

/** The most that are settled in one go; the next poll takes more. */
const batch = 200

/**
 * Lets the calls go on whose person has logged in since they were asked. Safe at any time in any number of processes: the owner
 * is locked, and only a pending question changes.
 */
export async function settleLogins(services: Pick<Services, 'db' | 'pubsub'>): Promise<void> {
  const { db, pubsub } = services
  await query(db, sql`update approvals as p set wake_at = p.expires_at where ${isDue} and not ${hasLogin}`)
  const due = await query<{ id: string; toolCallId: string; person: string; name: string }>(
    db,
    sql`select p.id, p.tool_call_id as "toolCallId", p.requirement->>'loginOf' as person,
        coalesce(k.name, s.name, p.requirement->>'loginOf') as name
      from approvals as p
      left join api_keys as k on k.id = p.requirement->>'loginOf'
      left join subjects as s on s.id = p.requirement->>'loginOf'
      where ${isDue}
      order by p.wake_at
      limit ${batch}`,
  )
  for (const { id, toolCallId, person, name } of due) {
    const owner = ownerOf(await loadCall(db, toolCallId))
    const written = await atomically(db, async (tx) => {
      await lockOwners(tx, [owner])
      const [approval] = await loadApprovals(tx, [id])
      if (approval?.status !== 'PENDING') return null
      const [now] = await query<{ at: Date }>(tx, sql`select now() as at`)
      const at = new Date(now!.at).toISOString()
      const votes = [
        {
          verdict: 'APPROVE',
          by: person,
          byName: name,
          at,
          from: null,
          via: 'LOGIN',
          reason: null,
          note: null,
        },
      ] as const
      const outcome = outcomeOf(approval, votes)
      const caller = { principal: { id: person }, remoteAddress: null }
      return writeVerdict(tx, caller, {
        approval,
        owner,
        votes: [...votes],
        outcome,
        edit: null,
        dropped: [],
      })
    })
    if (written) pubsub.publish(written.hints)
  }
}

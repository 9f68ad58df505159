/**
 * A new call at the gate, permitted and without a row yet: it is sent at once, let through or refused by a grant,
 * stopped with an approval, or joined with a waiting one.
 */
import type { JsonObject } from '../../core/json.ts'
import { type Basis, awaitedCall } from '../basis/index.ts'
import type { Attachment } from '../files/index.ts'
import { judgeGate, type GatePolicy, type Requirement } from '../gates/index.ts'
import {
  policiesOf,
  withAttachments,
  type Callable,
  type CallerChannel,
  type Preparation,
  codeOf,
} from '../tools/index.ts'
import { callbackSecretShape, type Callback } from '../followers/index.ts'
import { part } from '../../core/shapes.ts'
import { ToolCall, callStarted, toolCallOf } from '../tool-calls/index.ts'
import type { ToolResult } from '../../core/content.ts'
import { query, type Database } from '../../store/db/database.ts'
import { selectRows, type Values } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { requestHashOf, type Asker, type Ctx } from '../access/index.ts'
import {
  findGrants,
  insertApprovals,
  newApproval,
  requestEvent,
  takeAnswer,
  type GrantAnswer,
} from '../approvals/index.ts'
import { toolCallSettled, type GenerationEvent } from '../events/index.ts'

/** The agent through which a call came over the bridge. */
export interface Via {
  agentId: string
  /** Can only make the tool's own gate stricter. */
  agentGate: GatePolicy | null
  threadId: string | null
}

/** A validated and permitted call. */
export interface CallRequest {
  tool: Callable
  prepared: Extract<Preparation, { ok: true }>
  attachments: readonly Attachment[] | null
  /** A repeat with the same key and request joins the first call; with another request it is CONFLICT. */
  idempotency: { operation: string; key: string; request: unknown } | null
  /** Where the events of the call are sent. */
  callback?: Callback | null | undefined
  /** Null for a direct call. */
  via: Via | null
  /**
   * What the request was checked against. When the statement that begins the call finds that it is not so any more, nothing
   * is written, and `createCall` throws StaleReadError.
   */
  basis: Basis
  /** Receives progress and can be asked for input while the call runs. */
  caller?: CallerChannel | null | undefined
}

/**
 * Hash by which two requests of the same caller over the bridge count as the same one, in whichever session: many clients
 * open one for each call.
 */
export function requestHash(
  { principal }: Pick<Ctx, 'principal'>,
  { tool, prepared, attachments }: CallRequest,
  { agentId }: Via,
): string {
  const { runtimeName } = tool
  return hashOfRequest(principal, { agentId, runtimeName, args: prepared.arguments, attachments })
}

/** The same of a call that it has made. */
export function hashOfRequest(
  asker: Pick<Asker, 'actsFor'>,
  call: {
    agentId: string
    runtimeName: string
    args: JsonObject | null
    attachments: readonly Attachment[] | null
  },
): string {
  // Null stands where earlier releases had the thread of the session.
  return requestHashOf(asker, [call.agentId, null, call.runtimeName, call.args, call.attachments ?? []])
}

/** The arguments that gates evaluate and people approve, including the attached files. */
function gateArguments({ prepared, attachments }: CallRequest): JsonObject {
  return withAttachments(prepared.merged, attachments)
}

/** What the gates require before the call may run; null when nothing stops it. */
export function requirementOf(request: CallRequest): Requirement | null {
  const { tool, via } = request
  const policies = policiesOf(tool, via?.agentGate ? [via.agentGate] : [])
  return judgeGate(policies, gateArguments(request), tool.projectId)
}

/** What operations on one call return. */
export const callPayload = part('ToolCallPayload', 'The tool call after the mutation.', {
  toolCall: ToolCall.describe('The tool call after the mutation, with its result if it has one.'),
  callbackSecret: callbackSecretShape,
})

/** The first state of a new call's row. */
export interface GatedRow {
  row: Values<typeof toolCalls>
  /** True when the call is EXECUTING, and the process that creates it sends it. */
  isSent: boolean
  /** Null for a call that waits for the end of a pause: its first event is that it starts. */
  event: GenerationEvent | null
}

/**
 * The first state of the call's row, with its approval or the use of a grant written in the transaction; or the
 * waiting call that this request joins. `paused`: what the gate lets pass waits.
 */
export async function passGate(
  tx: Database,
  ctx: Ctx,
  request: CallRequest,
  id: string,
  paused: boolean,
): Promise<{ known: ToolCall } | GatedRow> {
  const { tool, via } = request
  const requirement = requirementOf(request)
  const started = callStarted({ id, runtimeName: tool.runtimeName, stepIndex: null }, 1)
  const passed = (row: GatedRow['row']): GatedRow =>
    paused
      ? { row: { ...row, status: 'PROPOSED', ...awaitedBy(ctx, request) }, isSent: false, event: null }
      : { row, isSent: true, event: started }
  // Also when the gate or pause is gone that stopped the first.
  const known = via && !request.idempotency ? await findAwaited(tx, ctx, request, via) : null
  if (known) return { known }
  if (!requirement) return passed({})
  const answer = await answerOf(tx, ctx, request, requirement)
  if (!answer) return stopped(tx, ctx, request, id, requirement)
  const { grantId, refused } = answer
  return refused ? refusedRow(request, id, grantId, refused) : passed({ grantId })
}

/** A call that is settled as it begins: a refusal stands against it. */
function refusedRow({ tool }: CallRequest, id: string, grantId: string, result: ToolResult): GatedRow {
  const status = 'REJECTED'
  return {
    row: { status, grantId, result, isError: true, errorCode: codeOf(result) },
    isSent: false,
    event: toolCallSettled({ toolCallId: id, name: tool.runtimeName, status }),
  }
}

async function stopped(
  tx: Database,
  ctx: Ctx,
  request: CallRequest,
  id: string,
  requirement: Requirement,
): Promise<GatedRow> {
  const { tool, via } = request
  const question = newApproval(ctx, {
    toolCallId: id,
    tool,
    merged: gateArguments(request),
    requirement,
    onApprove: 'RUN',
    clientTimeoutMs: null,
    requestedBy: ctx.principal.id,
    actsFor: ctx.principal.actsFor ?? null,
  })
  await query(
    tx,
    sql`with g as (
        select
          null::text as id,
          ${tool.projectId}::text as project_id,
          ${via?.agentId ?? null}::text as agent_id,
          ${via?.threadId ?? null}::text as thread_id
      )
      ${insertApprovals([question])}`,
  )
  const row = { status: 'AWAITING_APPROVAL', approvalId: question.id, ...awaitedBy(ctx, request) }
  return { row, isSent: false, event: requestEvent(question) }
}

async function answerOf(
  tx: Database,
  ctx: Ctx,
  request: CallRequest,
  requirement: Requirement,
): Promise<GrantAnswer | null> {
  const { tool, via } = request
  const holder = {
    agentId: via?.agentId ?? null,
    threadId: via?.threadId ?? null,
    requestedBy: ctx.principal.id,
    actsFor: ctx.principal.actsFor ?? null,
  }
  const grants = await findGrants(tx, [tool.id], holder)
  return takeAnswer(tx, grants, { tool, merged: gateArguments(request), requirement })
}

/** How the same request over the bridge finds the call that waits, and its outcome. */
function awaitedBy(ctx: Ctx, request: CallRequest): Pick<GatedRow['row'], 'awaited' | 'requestHash'> {
  return request.via ? { awaited: true, requestHash: requestHash(ctx, request, request.via) } : {}
}

/**
 * A call of the same caller with the same request that still waits, or whose outcome was not fetched. Of equal requests at
 * once, on any replica, one is the first, and the others wait for the end of its transaction.
 */
async function findAwaited(tx: Database, ctx: Ctx, request: CallRequest, via: Via): Promise<ToolCall | null> {
  const hash = requestHash(ctx, request, via)
  const identity = `${ctx.principal.id} ${hash}`
  // A statement of its own: the next one must see what was committed while this one waited.
  await query(tx, sql`select pg_advisory_xact_lock(hashtextextended(${identity}, 0))`)
  const [row] = await selectRows(tx, toolCalls, sql`where id = (${awaitedCall(ctx.principal.id, hash)})`)
  return row ? toolCallOf(row) : null
}

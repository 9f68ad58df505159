/**
 * Creates and voids approvals, in the transaction of their calls. Creating one freezes what approvers see and what
 * will run.
 */
import { sql, type SQL } from 'drizzle-orm'
import { newId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import { jsonb } from '../../store/db/database.ts'
import type { Services } from '../access/index.ts'
import { approvalRequested, approvalVoided, type GenerationEvent } from '../events/index.ts'
import { maskedPaths, type Callable, type Requirement } from '../tools/index.ts'
import { type ToolCall } from '../tool-calls/index.ts'
import type { OnApprove, VoidReason } from './approval.ts'
import { digestOf, type Asked } from './digest.ts'

/** A call that needs an approval. */
export interface Question {
  toolCallId: string
  tool: Asked & Pick<Callable, 'inputSchema' | 'runtimeName'>
  /** The arguments with presets merged in. */
  merged: JsonObject
  requirement: Requirement
  onApprove: OnApprove
  /** For CLIENT: how long the client has for the output after the approval, in milliseconds. */
  clientTimeoutMs: number | null
  requestedBy: string
}

export interface NewApproval extends Question {
  id: string
  digest: string
}

export function newApproval({ masterKey }: Pick<Services, 'masterKey'>, question: Question): NewApproval {
  const digest = digestOf(masterKey, question.tool, { ...question, arguments: question.merged })
  return { ...question, id: newId('approval'), digest }
}

/**
 * The tail of a statement with a relation `g(id, project_id, agent_id, thread_id)` of one row, whose `id` is null
 * outside a generation: inserts the approvals and sets `approval_id` of their calls. The calls must already be in the
 * table, or be inserted with `approval_id` set.
 */
export function insertApprovals(questions: readonly NewApproval[]): SQL {
  const rows = questions.map((q) => ({
    id: q.id,
    call: q.toolCallId,
    tool: q.tool.id,
    version: q.tool.version,
    name: q.tool.runtimeName,
    action: q.tool.action,
    hash: q.tool.definitionHash,
    args: q.merged,
    masked: maskedPaths(q.tool.inputSchema, q.merged),
    digest: q.digest,
    by: q.requestedBy,
    requirement: q.requirement,
    next: q.onApprove,
    client: q.clientTimeoutMs,
    seconds: q.requirement.timeoutSeconds,
    escalate: q.requirement.escalateAfterSeconds,
  }))
  const after = (seconds: SQL) => sql`now() + ${seconds} * interval '1 second'`
  return sql`insert into approvals (id, project_id, generation_id, agent_id, thread_id, tool_call_id, tool_id,
      tool_version, runtime_name, action, definition_hash, arguments, masked, digest, requested_by, requirement, on_approve, client_timeout_ms,
      expires_at, wake_at)
    select x.id, g.project_id, g.id, g.agent_id, g.thread_id, x.call, x.tool, x.version, x.name, x.action, x.hash, x.args, x.masked,
      x.digest, x.by, x.requirement, x.next, x.client, ${after(sql`x.seconds`)},
      ${after(sql`coalesce(x.escalate, x.seconds)`)}
    from g, jsonb_to_recordset(${jsonb(rows)}) as x(id text, call text, tool text, version int, name text, action text,
      hash text, args jsonb,
      masked jsonb, digest text, by text, requirement jsonb, next text, client int, seconds float8, escalate float8)`
}

/** The event `approval.requested` of this approval. */
export function requested({ id, toolCallId, tool }: NewApproval): GenerationEvent {
  return approvalRequested({ approvalId: id, toolCallId, name: tool.runtimeName })
}

/**
 * Part of a statement with a relation `g` of at most one row: voids those of these approvals that are pending or
 * approved; does nothing when `g` is empty. `relation` replaces `g`; `masks` are the argument paths to hide from now
 * on.
 */
export function voidApprovals(
  ids: readonly string[],
  reason: VoidReason,
  { relation = sql`g`, masks = null }: { relation?: SQL; masks?: string[][] | null } = {},
): SQL {
  const hidden = masks ? sql`, masked = ${jsonb(masks)}` : sql``
  return sql`update approvals as p set status = 'VOIDED', void_reason = ${reason}, settled_at = now(), wake_at = null
    ${hidden}
    from ${relation} where p.id in ${[...ids]} and p.status in ('PENDING', 'APPROVED')`
}

/** Part of a statement with the relation `g(id)`: voids the pending approvals of a generation that ends. */
export function voidPending(): SQL {
  return sql`update approvals set status = 'VOIDED', void_reason = 'GENERATION_ENDED', settled_at = now(), wake_at = null
    from g where generation_id = g.id and status = 'PENDING'`
}

/** The event that the approval of this call was voided. */
export function voided(call: ToolCall, reason: VoidReason): GenerationEvent {
  return approvalVoided({ approvalId: call.approvalId!, toolCallId: call.id, name: call.runtimeName, reason })
}

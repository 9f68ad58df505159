/**
 * Creates and voids approvals, in the transaction of their calls. Creating one freezes what approvers see and what
 * will run.
 */
import { newId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import { keyOrderOf, schemaOrderOf } from '../../core/key-order.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { approvals } from '../../store/db/tables/approvals.ts'
import { assignments, fromRecordset, insertSelect, recordset } from '../../store/db/rows.ts'
import type { Services } from '../access/index.ts'
import { approvalRequested, approvalVoided, type GenerationEvent } from '../events/index.ts'
import type { Requirement } from '../gates/index.ts'
import { maskAt, maskedPaths, shownSchema, usableTitle, type Callable } from '../tools/index.ts'
import { type ToolCall } from '../tool-calls/index.ts'
import type { OnApprove, StoredQuestion, VoidReason } from './approval.ts'
import { digestOf } from './digest.ts'
import { searchOf, wordsOfQuestion } from './summary.ts'

/** A call that needs an approval. */
export interface Question {
  toolCallId: string
  tool: Callable
  /** The arguments with presets merged in. */
  merged: JsonObject
  requirement: Requirement
  onApprove: OnApprove
  /** For CLIENT: how long the client has for the output after the approval, in milliseconds. */
  clientTimeoutMs: number | null
  requestedBy: string
  /** For whom the requester acts; null for itself. It is asked for as a part of the requirement. */
  actsFor: string | null
}

export interface NewApproval extends Question {
  id: string
  digest: string
}

export function newApproval({ masterKey }: Pick<Services, 'masterKey'>, asked: Question): NewApproval {
  const { requirement, actsFor } = asked
  const question = { ...asked, requirement: { ...requirement, ...(actsFor === null ? {} : { actsFor }) } }
  const digest = digestOf(masterKey, question.tool, { ...question, arguments: question.merged })
  return { ...question, id: newId('approval'), digest }
}

/**
 * The tail of a statement with a relation `g(id, project_id, agent_id, thread_id)` of one row, whose `id` is null
 * outside a generation: inserts the approvals and sets `approval_id` of their calls. The calls must already be in the
 * table, or be inserted with `approval_id` set.
 */
export function insertApprovals(questions: readonly NewApproval[]): SQL {
  const rows = questions.map((q) => {
    const paths = maskedPaths(q.tool, q.merged)
    const question = askedTool(q)
    return {
      id: q.id,
      toolCallId: q.toolCallId,
      toolId: q.tool.id,
      toolVersion: q.tool.version,
      runtimeName: q.tool.runtimeName,
      action: q.tool.action,
      definitionHash: q.tool.definitionHash,
      arguments: q.merged,
      masked: paths,
      question,
      digest: q.digest,
      requestedBy: q.requestedBy,
      requirement: q.requirement,
      onApprove: q.onApprove,
      clientTimeoutMs: q.clientTimeoutMs,
      timeout_seconds: q.requirement.timeoutSeconds,
      // Whether the person has logged in meanwhile is asked once more when it is committed.
      escalate_seconds: q.requirement.loginOf ? 0 : q.requirement.escalateAfterSeconds,
      words: wordsOfQuestion({ runtimeName: q.tool.runtimeName, question }, [maskAt(q.merged, paths)]),
    }
  })
  const { timeout_seconds: _timeout, escalate_seconds: _escalate, words: _words, ...own } = rows[0]!
  const after = (seconds: SQL) => sql`now() + ${seconds} * interval '1 second'`
  return insertSelect(
    approvals,
    {
      ...fromRecordset(approvals, Object.keys(own) as (keyof typeof own)[]),
      projectId: sql`g.project_id`,
      generationId: sql`g.id`,
      agentId: sql`g.agent_id`,
      threadId: sql`g.thread_id`,
      expiresAt: after(sql`x.timeout_seconds`),
      wakeAt: after(sql`coalesce(x.escalate_seconds, x.timeout_seconds)`),
      search: searchOf(sql`x.words`, sql`g.agent_id`),
    },
    sql`g, ${recordset(approvals, rows, { timeout_seconds: 'float8', escalate_seconds: 'float8', words: 'text' })}`,
  )
}

function askedTool({ tool, merged }: NewApproval): StoredQuestion {
  const { title, description } = tool
  const titleTemplate = usableTitle(tool)
  const inputSchema = shownSchema(tool)
  const order = { schema: schemaOrderOf(inputSchema), arguments: keyOrderOf(merged) }
  return { title, description, inputSchema, order, ...(titleTemplate ? { titleTemplate } : {}) }
}

/** The event `approval.requested` of this approval. */
export function requestEvent({ id, toolCallId, tool }: NewApproval): GenerationEvent {
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
  const hidden = masks ? { masked: masks, search: null } : {}
  return sql`update approvals as p
    set ${assignments(approvals, { ...voidedFor(reason), ...hidden })}
    from ${relation}
    where p.id in ${[...ids]} and p.status in ('PENDING', 'APPROVED')`
}

/** Part of a statement with the relation `g(id)`: voids the pending approvals of a generation that ends. */
export function voidPending(): SQL {
  return sql`update approvals
    set ${assignments(approvals, voidedFor('GENERATION_ENDED'))}
    from g
    where generation_id = g.id and status = 'PENDING'`
}

function voidedFor(reason: VoidReason) {
  return { status: 'VOIDED', voidReason: reason, settledAt: sql`now()`, wakeAt: null }
}

/** The event that the approval of this call was voided. */
export function voidEvent(call: ToolCall, reason: VoidReason): GenerationEvent {
  return approvalVoided({ approvalId: call.approvalId!, toolCallId: call.id, name: call.runtimeName, reason })
}

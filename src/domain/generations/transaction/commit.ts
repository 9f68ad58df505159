/** The one statement through which a generation changes: state, events, step, calls and audit together, or nothing. */
import { sql, type SQL } from 'drizzle-orm'
import { newId } from '../../../core/ids.ts'
import type { JsonObject } from '../../../core/json.ts'
import { atomically, query, type Database, jsonb } from '../../../store/db/database.ts'
import type { Hint } from '../../../store/events/pubsub.ts'
import { insertGenerationEvents, type NewEvent } from '../../../store/events/log.ts'
import { copiesForRoot } from '../../../store/work/root.ts'
import { LeaseLostError, type Held } from '../../../store/work/work.ts'
import { insertEntries, type NewAuditEntry } from '../../audit/index.ts'
import type { ToolResult } from '../../../core/content.ts'
import { attemptBegins, attemptEnds, newAttempt, type ToolCallStatus } from '../../tools/index.ts'
import { notifyParent, type RunEnd } from '../nesting/notify-parent.ts'
import type { ParentLink } from '../nesting/limits.ts'
import type { TriagedCall } from './triage.ts'

/** A generation that this process may write, with its place in its chain. */
export interface HeldRun extends Held {
  /** Null for a run that no other run asked for. */
  parent?: ParentLink | null
}

/** Selects `parent` from a row of generations. */
export const parentLinkOf = sql`case when root_id is not null then
  jsonb_build_object('projectId', project_id, 'parentId', parent_id, 'callId', parent_call_id, 'rootId', root_id) end as parent`

export interface CallChange {
  id: string
  status: ToolCallStatus
  result?: ToolResult | null
  errorCode?: string | null
  /** Counts one more attempt and stamps the start. Refused for a call that is settled or waits for a run. */
  starts?: boolean
  /** The run that it waits for from now on. */
  childId?: string
  outputHash?: string | null
  /** A new question about the call, and the version of the tool that it asks about. */
  approvalId?: string
  toolVersion?: number
  definitionHash?: string | null
  /** A limit holds it back for so many milliseconds from now. */
  notBeforeMs?: number
  /** Places in the arguments that are not shown from now on. */
  masked?: string[][]
}

export interface NewStepRow {
  stepIndex: number
  attempt: number
  model: string
  modelKind: string
  parts: unknown
  surface: unknown
  toolChoice: unknown
  finishReason: string
  usage: unknown
  notice: string | null
  elided: JsonObject | null
}

export interface NewAttemptRow {
  stepIndex: number
  attempt: number
  model: string
  usage: unknown
  totalTokens: number
  errorCode: string | null
}

export interface NewCallRow extends TriagedCall {
  stepIndex: number
  callIndex: number
  /** Committed as EXECUTING, attempt 1, by the worker that sends it next. */
  starts: boolean
  approvalId: string | null
  /** For a client call: how long its output is waited for. */
  timeoutMs: number | null
}

export interface Change {
  /** Assignments to columns of the generation. */
  set?: SQL[]
  /** When somebody must look again; the lease of a worker that goes on. Null: nobody has to. */
  wakeAt: SQL | null
  /** Gives the row back: nobody holds it after this. */
  release?: boolean
  events?: NewEvent[]
  step?: NewStepRow
  attempt?: NewAttemptRow
  newCalls?: NewCallRow[]
  calls?: CallChange[]
  audit?: NewAuditEntry[]
  /** It is the last change: how it ended, for the call that may wait for it. */
  ends?: RunEnd
  /** Statements of other rooms over the relation `g(id, project_id, agent_id, thread_id, requested_by, requester, deadline_at)`, the generation's row. */
  also?: SQL[]
}

/** The newest event number, and what to ring for rows above it. */
export interface Committed {
  seq: number
  hints: Hint[]
}

/** When a row that is given back is looked at: then, or at once when somebody has asked for its end since the last look. */
export function unlessCancelled(wakeAt: SQL): SQL {
  return sql`case when cancel_requested_at is null then ${wakeAt} else now() end`
}

/**
 * Commits a change of a generation under the proof of ownership, in one statement and so in one transaction.
 * LeaseLostError when another worker has the row, it is terminal, or a call that would start is settled or waits for a
 * run: then nothing was written. Pass a transaction to make it part of something larger. What a run within a run has to
 * tell those above it is written in the same transaction.
 */
export async function commit(db: Database, held: HeldRun, change: Change): Promise<Committed> {
  const { parent } = held
  const copies = parent ? copiesForRoot(change.events ?? [], held.id) : []
  if (!parent || (copies.length === 0 && !change.ends))
    return { seq: await commitOwn(db, held, change), hints: [] }
  return atomically(db, async (tx) => {
    const seq = await commitOwn(tx, held, change)
    return { seq, hints: await notifyParent(tx, held.id, parent, { copies, ends: change.ends ?? null }) }
  })
}

async function commitOwn(db: Database, held: Held, change: Change): Promise<number> {
  const events = change.events ?? []
  const set = [
    ...(change.set ?? []),
    sql`wake_at = ${change.wakeAt ?? sql`null`}`,
    sql`last_seq = last_seq + ${events.length}::int`,
    ...(change.release ? [sql`epoch = epoch + 1`] : []),
  ]
  const parts: SQL[] = [
    sql`g as (update generations set ${sql.join(set, sql`, `)}
      where id = ${held.id} and epoch = ${held.epoch} and finished_at is null ${mayStart(change.calls ?? [])}
      returning id, project_id, agent_id, thread_id, requested_by, requester, last_seq, deadline_at)`,
  ]
  if (events.length > 0) parts.push(sql`e as (${insertGenerationEvents(events)})`)
  if (change.step) parts.push(sql`s as (${insertStep(change.step)})`)
  if (change.attempt) parts.push(sql`a as (${insertAttempt(change.attempt)})`)
  if (change.newCalls?.length) parts.push(sql`c as (${insertCalls(change.newCalls)})`)
  if (change.calls?.length) parts.push(sql`u as (${updateCalls(change.calls)})`)
  if (change.audit?.length) parts.push(sql`l as (${insertEntries(change.audit)})`)
  change.also?.forEach((part, i) => parts.push(sql`${sql.raw(`x${i}`)} as (${part})`))
  const rows = await query<{ seq: number }>(
    db,
    sql`with ${sql.join(parts, sql`, `)} select last_seq as seq from g`,
  )
  if (!rows[0]) throw new LeaseLostError(held.id)
  return rows[0].seq
}

/** Nothing starts twice, whatever its worker believes. */
function mayStart(calls: CallChange[]): SQL {
  const ids = calls.filter((call) => call.starts).map((call) => call.id)
  if (ids.length === 0) return sql``
  return sql`and not exists (select 1 from tool_calls as t
    where t.id in ${ids} and (t.settled_at is not null or t.child_id is not null))`
}

function insertStep(step: NewStepRow): SQL {
  return sql`insert into steps (id, project_id, generation_id, step_index, attempt, model, model_kind, parts, surface,
      tool_choice, finish_reason, usage, notice, elided)
    select ${newId('step')}, g.project_id, g.id, ${step.stepIndex}::int, ${step.attempt}::int, ${step.model},
      ${step.modelKind}, ${jsonb(step.parts)}, ${jsonb(step.surface)}, ${jsonb(step.toolChoice)}, ${step.finishReason},
      ${jsonb(step.usage)}, ${step.notice}::text, ${step.elided === null ? sql`null::jsonb` : jsonb(step.elided)} from g`
}

function insertAttempt(attempt: NewAttemptRow): SQL {
  return sql`insert into model_attempts (generation_id, step_index, attempt, project_id, agent_id, model, usage,
      total_tokens, error_code)
    select g.id, ${attempt.stepIndex}::int, ${attempt.attempt}::int, g.project_id, g.agent_id, ${attempt.model},
      ${jsonb(attempt.usage)}, ${attempt.totalTokens}::bigint, ${attempt.errorCode}::text from g
    on conflict do nothing`
}

function insertCalls(calls: NewCallRow[]): SQL {
  const rows = calls.map((call) => ({
    id: call.id,
    n: call.callIndex,
    step: call.stepIndex,
    provider: call.providerCallId,
    tool: call.tool?.id ?? null,
    version: call.tool?.version ?? null,
    name: call.runtimeName,
    kind: call.tool?.kind ?? null,
    action: call.tool?.action ?? null,
    hash: call.tool?.definitionHash ?? null,
    status: call.starts ? 'EXECUTING' : call.status,
    args: call.arguments,
    raw: call.rawArguments,
    result: call.result,
    error: call.errorCode,
    starts: call.starts,
    approval: call.approvalId,
    grant: call.grantId,
    masked: call.masked,
    wait: call.status === 'AWAITING_CLIENT' ? call.timeoutMs : null,
  }))
  return sql`insert into tool_calls (id, project_id, generation_id, step_index, call_index, provider_call_id, source,
      tool_id, tool_version, runtime_name, kind, action, definition_hash, status, arguments, raw_arguments, attempt, result, is_error,
      error_code, requested_by, requester, approval_id, grant_id, masked, attempts, deadline_at, started_at, settled_at)
    select x.id, g.project_id, g.id, x.step, x.n, x.provider, 'GENERATION', x.tool, x.version, x.name, x.kind, x.action, x.hash, x.status,
      x.args, x.raw, case when x.starts then 1 else 0 end, x.result, (x.result->>'isError')::boolean, x.error,
      g.requested_by, g.requester, x.approval, x."grant", x.masked,
      case when x.starts then jsonb_build_array(${newAttempt(sql`1`, sql`x.id`)}) else '[]'::jsonb end,
      now() + x.wait * interval '1 millisecond', case when x.starts then now() end,
      case when x.result is not null then now() end
    from g, jsonb_to_recordset(${jsonb(rows)}) as x(id text, n int, step int, provider text, tool text, version int,
      name text, kind text, action text, hash text, status text, args jsonb, raw text, result jsonb, error text, starts boolean, approval text, "grant" text,
      masked jsonb, wait float8)`
}

function updateCalls(calls: CallChange[]): SQL {
  const rows = calls.map((call) => ({
    id: call.id,
    status: call.status,
    result: call.result ?? null,
    error: call.errorCode ?? null,
    starts: call.starts ?? false,
    hash: call.outputHash ?? null,
    approval: call.approvalId ?? null,
    version: call.toolVersion ?? null,
    definition: call.definitionHash ?? null,
    child: call.childId ?? null,
    masked: call.masked ?? null,
    held: call.notBeforeMs ?? null,
  }))
  return sql`update tool_calls as t set status = x.status, result = x.result, is_error = (x.result->>'isError')::boolean,
      error_code = x.error, attempt = t.attempt + case when x.starts then 1 else 0 end,
      started_at = case when x.starts then coalesce(t.started_at, now()) else t.started_at end,
      settled_at = case when x.result is null then null else now() end, output_hash = coalesce(x.hash, t.output_hash),
      attempts = case when x.starts then ${attemptBegins(sql`t.id`)}
        when x.result is not null then ${attemptEnds(sql`x.status`, sql`x.error`)} else attempts end,
      approval_id = coalesce(x.approval, t.approval_id), tool_version = coalesce(x.version, t.tool_version),
      definition_hash = coalesce(x.definition, t.definition_hash), child_id = coalesce(x.child, t.child_id),
      masked = coalesce(x.masked, t.masked),
      not_before = case when x.held is null then null else now() + x.held * interval '1 millisecond' end
    from g, jsonb_to_recordset(${jsonb(rows)})
      as x(id text, status text, result jsonb, error text, starts boolean, hash text, approval text, version int,
        definition text, child text, masked jsonb, held float8)
    where t.id = x.id and t.generation_id = g.id and t.settled_at is null`
}

/** The one statement that changes a generation: state, events, step, calls and audit entries together, or nothing. */
import { newId } from '../../../core/ids.ts'
import type { JsonObject } from '../../../core/json.ts'
import { atomically, query, type Database } from '../../../store/db/database.ts'
import { sharingCommits } from '../../../store/db/fast-statements.ts'
import { prove, StaleReadError, type Basis, runIsFree } from '../../basis/index.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { modelAttempts, steps } from '../../../store/db/tables/generations.ts'
import { insertSelect } from '../../../store/db/rows.ts'
import type { Hint } from '../../../store/pubsub/pubsub.ts'
import type { ParentLink } from '../../../store/work/owner.ts'
import { LeaseLostError, type HeldRow } from '../../../store/work/work.ts'
import { insertEntries, type NewAuditEntry } from '../../audit/index.ts'
import { insertGenerationEvents, rootCopies, type GenerationEvent } from '../../events/index.ts'
import { insertCalls, mayStart, type ProposedCall } from '../../tool-calls/index.ts'
import { notifyParent, type RunEnd } from '../nesting/notify-parent.ts'
import { traceToStore, type Activation } from './activation.ts'

/** A generation that this process holds, with its place in its chain. */
export interface HeldRun extends HeldRow {
  /** Null for a run without a parent. */
  parent?: ParentLink | null
  /** What operators see of this time that the run is held. */
  activation?: Activation
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
  leftOut: unknown
  toolSize: unknown
  startedAt: SQL
  firstTokenAt: SQL | null
}

export interface NewAttemptRow {
  stepIndex: number
  attempt: number
  model: string
  usage: unknown
  totalTokens: number
  errorCode: string | null
  errorMessage: string | null
  httpStatus: number | null
  startedAt: SQL
}

export interface Change {
  /** Assignments to columns of the generation. */
  set?: SQL[]
  /** When a worker must take the row; the end of the lease when this worker continues. Null: never. */
  wakeAt: SQL | null
  /** Releases the row: no worker holds it after this. */
  release?: boolean
  events?: GenerationEvent[]
  step?: NewStepRow
  attempt?: NewAttemptRow
  /** The calls of the step. */
  newCalls?: ProposedCall[]
  /** Calls that start: the commit is refused when one of them is settled or waits for a child run. */
  starting?: string[]
  /** The tools of calls that are sent after this: a pause of one of them, or of the run, refuses the commit. */
  sends?: readonly string[]
  /** What the change was made from: when it is not so any more, the commit throws StaleReadError. */
  basis?: Basis
  /** Updates of tool calls, with the proof `inGeneration`. */
  calls?: SQL[]
  audit?: NewAuditEntry[]
  /** Set with the last change of the generation: how it ended, for the parent's call. */
  ends?: RunEnd
  /**
   * Statements of other modules over the relation `g(id, project_id, agent_id, thread_id, requested_by, requester,
   * deadline_at)`, the generation's row.
   */
  also?: SQL[]
}

/** The newest event number, and the hints to publish for the rows of parent and root. */
export interface CommitResult {
  seq: number
  hints: Hint[]
}

/** The wake-up of a row that is released: at `wakeAt`, or at once when a cancel was requested meanwhile. */
export function unlessCancelled(wakeAt: SQL): SQL {
  return sql`case when cancel_requested_at is null then ${wakeAt} else now() end`
}

/**
 * Commits a change of a generation under the proof of its epoch, in one statement. LeaseLostError, with nothing
 * written, when another worker holds the row, the generation is terminal, or a call that would start is settled or
 * waits for a child run; StaleReadError, which may also mean one of these, for a change with a basis or calls to send. Pass a transaction to make the commit part of it. What a child run writes in the rows of its
 * parent and root is written in the same transaction.
 */
export async function commit(db: Database, held: HeldRun, change: Change): Promise<CommitResult> {
  const { parent, activation } = held
  const copies = parent ? rootCopies(change.events ?? [], held.id) : []
  const made: CommitResult =
    !parent || (copies.length === 0 && !change.ends)
      ? { seq: await commitOwn(sharingCommits(db), held, change), hints: [] }
      : await atomically(db, async (tx) => {
          const seq = await commitOwn(tx, held, change)
          return {
            seq,
            hints: await notifyParent(tx, held.id, parent, { copies, ends: change.ends ?? null }),
          }
        })
  if (activation && change.ends) activation.ended = change.ends.status
  return made
}

async function commitOwn(db: Database, held: HeldRun, change: Change): Promise<number> {
  const events = change.events ?? []
  const proof = prove(change.basis ?? {})
  const free = change.sends && runIsFree(held.id, change.sends)
  const set = [
    ...(change.set ?? []),
    sql`wake_at = ${change.wakeAt ?? sql`null`}`,
    sql`last_seq = last_seq + ${events.length}::int`,
    ...(change.release ? [sql`epoch = epoch + 1`, ...traceToStore(held.activation)] : []),
  ]
  const parts: SQL[] = [
    sql`g as (
      update generations
      set ${sql.join(set, sql`, `)}
      where id = ${held.id} and epoch = ${held.epoch} and finished_at is null
        and ${change.starting ? mayStart(change.starting) : sql`true`}
        and ${proof ?? sql`true`}
        and ${free ?? sql`true`}
      returning id, project_id, agent_id, thread_id, requested_by, requester, last_seq, deadline_at
    )`,
  ]
  if (events.length > 0) parts.push(sql`e as (${insertGenerationEvents(events)})`)
  if (change.step) parts.push(sql`s as (${insertStep(change.step)})`)
  if (change.attempt) parts.push(sql`a as (${insertAttempt(change.attempt)})`)
  if (change.newCalls?.length) parts.push(sql`c as (${insertCalls(change.newCalls)})`)
  change.calls?.forEach((part, i) => parts.push(sql`${sql.raw(`u${i}`)} as (${part})`))
  if (change.audit?.length) parts.push(sql`l as (${insertEntries(change.audit)})`)
  change.also?.forEach((part, i) => parts.push(sql`${sql.raw(`x${i}`)} as (${part})`))
  const rows = await query<{ seq: number }>(
    db,
    sql`with ${sql.join(parts, sql`, `)} select last_seq as seq from g`,
  )
  if (rows[0]) return rows[0].seq
  throw proof || free ? new StaleReadError() : new LeaseLostError(held.id)
}

function insertStep(step: NewStepRow): SQL {
  return insertSelect(
    steps,
    { ...step, id: newId('step'), projectId: sql`g.project_id`, generationId: sql`g.id` },
    sql`g`,
  )
}

function insertAttempt(attempt: NewAttemptRow): SQL {
  const own = { generationId: sql`g.id`, projectId: sql`g.project_id`, agentId: sql`g.agent_id` }
  return sql`${insertSelect(modelAttempts, { ...attempt, ...own }, sql`g`)}
    on conflict do nothing`
}

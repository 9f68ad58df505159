/** Writes accepted outputs: under the generation's lock, or in one statement that proves that nothing has changed. */
import type { ToolResult } from '../../core/content.ts'
import { momentNow, type Moment } from '../../core/time.ts'
import { jsonb, nowPlus, query, type Database } from '../../store/db/database.ts'
import { sharingCommits } from '../../store/db/fast-statements.ts'
import { StaleReadError, runIsFree } from '../basis/index.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { generationResumed, insertGenerationEvents, type GenerationEvent } from '../events/index.ts'
import { codeOf, toolVersionsOf, type ToolVersions } from '../tools/index.ts'
import { callSettled, inGeneration, isOpen, settleCalls, type ToolCall } from '../tool-calls/index.ts'
import { stepsAsJson, stepsOfJson } from './context/history.ts'
import type { Generation, NextStep } from './generation.ts'
import type { AcceptedOutput } from './submit-judgement.ts'
import type { HeldGeneration } from './transaction/claim.ts'

/** What was written in one generation. */
export interface WrittenOutputs {
  id: string
  /** The newest number in its log. */
  seq: number
  /** It goes on: no call is open any more, and no worker holds it. */
  resumes: boolean
  /** The row for a worker of this process, when the statement has claimed it. */
  held: HeldGeneration | null
}

/**
 * Whether a generation goes on when these calls are settled: no worker holds it, and no call is open then but those that
 * wait for nobody, only for the end of a delay.
 */
export function resumesWith(generation: Generation, calls: ToolCall[], accepted: AcceptedOutput[]): boolean {
  const settled = new Set(accepted.map((one) => one.call.id))
  const own = calls.filter((call) => call.generationId === generation.id)
  const isAwaited = (call: ToolCall) =>
    isOpen(call) && !settled.has(call.id) && call.status !== 'PROPOSED' && call.status !== 'APPROVED'
  return generation.storedStatus === 'WAITING' && !own.some(isAwaited)
}

/** Settles the calls of one generation with their events, in a transaction that has locked its row. */
export async function writeLocked(
  tx: Database,
  generation: Generation,
  calls: ToolCall[],
  accepted: AcceptedOutput[],
  hint: NextStep | null,
): Promise<WrittenOutputs> {
  const { id } = generation
  const resumes = resumesWith(generation, calls, accepted)
  const { outcomes, events } = settlementOf(accepted)
  const wake = resumes ? sql`, status = 'QUEUED', wake_at = now()` : sql``
  const rows = await query<{ seq: number }>(
    tx,
    sql`with g as (
        update generations
        set last_seq = last_seq + ${events.length}::int ${wake} ${hintOf(hint)}
        where id = ${id}
        returning id, project_id, requested_by, last_seq
      ),
      e as (${insertGenerationEvents(events)}),
      u as (${settleCalls('submit', outcomes, inGeneration)})
      select last_seq as seq from g`,
  )
  return { id, seq: rows[0]!.seq, resumes, held: null }
}

/** A generation and its calls as they were read, with what proves later that nothing has changed. */
export interface GenerationSnapshot {
  generation: Generation
  calls: ToolCall[]
  epoch: number
}

/**
 * Settles the calls in one statement, if neither the generation nor one of its calls has changed since it was read: every
 * change of them raises `last_seq`, or is a request to cancel. With `claim` a generation that goes on is claimed in the
 * same statement, as if a worker had claimed it at once, under this epoch. StaleReadError, with nothing written, when
 * something has changed.
 */
export async function writeUnchanged(
  db: Database,
  { generation, calls, epoch }: GenerationSnapshot,
  accepted: AcceptedOutput[],
  hint: NextStep | null,
  claim: { epoch: number; leaseMs: number } | null,
): Promise<WrittenOutputs> {
  const { id, lastSeq, storedStatus } = generation
  const resumes = resumesWith(generation, calls, accepted)
  const claims = resumes ? claim : null
  const { outcomes, events } = settlementOf(accepted)
  if (claims) events.push(generationResumed({}))
  const wake = claims
    ? sql`, status = 'RUNNING', epoch = ${claims.epoch}::int, wake_at = ${nowPlus(claims.leaseMs)}`
    : resumes
      ? sql`, status = 'QUEUED', wake_at = now()`
      : sql``
  const state = claims
    ? sql`, (extract(epoch from now()) * 1000)::float8 as now,
        ${stepsAsJson(id)} as steps,
        ${runIsFree(id)} as free,
        ${toolVersionsOf(sql`select jsonb_array_elements_text(g.settings->'toolIds')`)} as "toolVersions"`
    : sql``
  const readAt = momentNow()
  const [row] = await query<{ seq: number } & Claimed>(
    sharingCommits(db),
    sql`with g as (
        update generations
        set last_seq = last_seq + ${events.length}::int ${wake} ${hintOf(hint)}
        where id = ${id}
          and last_seq = ${lastSeq}::int
          and epoch = ${epoch}::int
          and status = ${storedStatus}
          and cancel_requested_at is null
        returning id, project_id, requested_by, last_seq, settings
      ),
      e as (${insertGenerationEvents(events)}),
      u as (${settleCalls('submit', outcomes, inGeneration)})
      select last_seq as seq ${state} from g`,
  )
  if (!row) throw new StaleReadError()
  const held = claims
    ? heldOf({ generation, calls }, accepted, hint, { ...row, readAt, epoch: claims.epoch })
    : null
  return { id, seq: row.seq, resumes, held }
}

interface Claimed {
  now: number
  /** No pause holds it. */
  free: boolean
  steps: object[]
  toolVersions: ToolVersions
}

/** The row as the statement has left it. */
function heldOf(
  seen: Omit<GenerationSnapshot, 'epoch'>,
  accepted: AcceptedOutput[],
  hint: NextStep | null,
  written: { seq: number; readAt: Moment; epoch: number } & Claimed,
): HeldGeneration {
  const { id, projectId, rootId, parentId, parentCallId, nextStep } = seen.generation
  const { seq, now, free, steps, toolVersions, readAt, epoch } = written
  const settled = new Map(accepted.map((one) => [one.call.id, one]))
  const generation: Generation = {
    ...seen.generation,
    storedStatus: 'RUNNING',
    nextStep: hint ?? nextStep,
    lastSeq: seq,
  }
  const calls = seen.calls.map((call) => {
    const one = settled.get(call.id)
    return one ? settledCall(one, now) : call
  })
  const read = { toolVersions, agreed: [], now, paused: !free, readAt }
  const claimed = { generation, calls, steps: stepsOfJson(steps), ...read }
  const parent = rootId ? { projectId, parentId: parentId!, callId: parentCallId!, rootId } : null
  return { id, projectId, epoch, was: 'QUEUED', lastSeq: seq, parent, claimed }
}

function settledCall({ call, result, hash }: AcceptedOutput, now: number): ToolCall {
  return {
    ...call,
    status: statusOf(result),
    result,
    isError: result.isError,
    errorCode: codeOf(result),
    outputHash: hash,
    settledAt: new Date(now),
  }
}

function settlementOf(accepted: AcceptedOutput[]) {
  const outcomes = accepted.map(({ call, result, hash }) => ({
    id: call.id,
    status: statusOf(result),
    result,
    outputHash: hash,
  }))
  const events: GenerationEvent[] = accepted.map(({ call, result }) => callSettled(call, statusOf(result)))
  return { outcomes, events }
}

function statusOf(result: ToolResult): 'ERRORED' | 'SUCCEEDED' {
  return result.isError ? 'ERRORED' : 'SUCCEEDED'
}

function hintOf(hint: NextStep | null): SQL {
  return hint ? sql`, next_step = ${jsonb(hint)}` : sql``
}

/** Inserts a generation: one row, which is state, queue entry and timer, with its thread and its first events. */
import { momentNow, type Moment } from '../../core/time.ts'
import { nowPlus, query, jsonb, type Database } from '../../store/db/database.ts'
import { sharingCommits } from '../../store/db/fast-statements.ts'
import { prove, StaleReadError, type Basis, areFree } from '../basis/index.ts'
import { vectorOf } from '../../store/db/lists.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { generations, threads } from '../../store/db/tables/generations.ts'
import { insertSelect } from '../../store/db/rows.ts'
import { requesterOf, type Ctx } from '../access/index.ts'
import type { Agent, AgentSettings } from '../agents/index.ts'
import { generationQueued, generationStarted, insertGenerationEvents } from '../events/index.ts'
import { toolVersionsOf, type ToolVersions } from '../tools/index.ts'
import { insertClientTools } from './given-by-client.ts'
import { insertCallback, type Callback } from '../followers/index.ts'
import { ownThreadId, type Generation, type RetryOf } from './generation.ts'
import { wordsOfRun } from './lines.ts'
import type { Message } from '../models/index.ts'
import type { HeldGeneration } from './transaction/claim.ts'

/** A generation to be inserted. */
export interface NewGeneration {
  id: string
  agent: Agent
  settings: AgentSettings
  messages: Message[]
  /** The thread that it continues; null begins one. */
  threadId: string | null
  /** The client's own id of that thread, which is created when it does not exist. */
  externalId?: string | null | undefined
  /** The history that it begins with; such a run begins a thread. */
  retryOf?: RetryOf | null | undefined
  /** Where its events are sent. */
  callback?: Callback | null | undefined
  /** What it was prepared from. */
  basis: Basis
}

export interface InsertedRun {
  /** As it was created: QUEUED, also when it was claimed in the same statement. */
  generation: Generation
  /** The row for a worker of this process; null when it waits for one. */
  held: HeldGeneration | null
}

/**
 * Inserts thread (if new), generation and first events in one statement; with `claims` this process holds
 * the row from the beginning, as if it had claimed it. StaleReadError, with nothing written, when its basis does not hold
 * any more.
 */
export async function insertGeneration(
  db: Database,
  ctx: Ctx,
  row: NewGeneration,
  claims: boolean,
): Promise<InsertedRun> {
  const { agent, settings, externalId = null, retryOf = null } = row
  const threadId = row.threadId ?? ownThreadId(row.id)
  const events = [generationQueued({ agentId: agent.id }), ...(claims ? [generationStarted({})] : [])]
  const { id: createdBy, actsFor = null } = ctx.principal
  const isNew = row.threadId === null || externalId !== null
  const thread = { id: threadId, projectId: agent.projectId, agentId: agent.id, createdBy, externalId }
  const own = {
    id: row.id,
    projectId: agent.projectId,
    agentId: agent.id,
    agentVersion: agent.version,
    threadId,
    settings,
    input: row.messages,
    requestedBy: createdBy,
    requester: requesterOf(ctx.principal),
    trace: ctx.trace ?? null,
    lastSeq: events.length,
  }
  const state = claims ? { ...ofThisProcess, wakeAt: nowPlus(ctx.limits.leaseMs) } : ofAnyWorker
  const retry = { retryOfId: retryOf?.generationId ?? null, retryStep: retryOf?.step ?? null }
  const values = {
    ...own,
    ...retry,
    ...state,
    search: searchOf(row),
    deadlineAt: nowPlus(settings.timeoutMs),
  }
  const readAt = momentNow()
  const rows = await query<Written>(
    sharingCommits(db),
    sql`with ${keptHistory(row)} a as (select 1 where ${prove(row.basis) ?? sql`true`} and ${retriedIsKept(row)}),
      ${isNew ? sql`t as (${insertSelect(threads, thread, sql`a`)} on conflict (id) do nothing returning id),` : sql``}
      b as (select 1 from a where ${threadIsKept(row, isNew)}),
      g as (
        ${insertSelect(generations, values, sql`b`)}
        returning id, project_id, requested_by, last_seq, created_at, deadline_at
      ),
      ${sql.join(
        [sql`e as (${insertGenerationEvents(events)})`, ...extrasOf(ctx, row, own)],
        sql`,
      `,
      )}
      select (extract(epoch from created_at) * 1000)::float8 as "createdMs",
        (extract(epoch from deadline_at) * 1000)::float8 as "deadlineMs"
        ${claims ? sql`, ${toolVersionsOf(sql`select jsonb_array_elements_text(${jsonb(settings.toolIds)})`)} as "toolVersions", ${areFree(agent.projectId, agent.id)} as free` : sql``}
      from g`,
  )
  if (!rows[0]) throw new StaleReadError()
  const { createdMs, deadlineMs } = rows[0]
  const [deadlineAt, createdAt] = [new Date(deadlineMs), new Date(createdMs)]
  const generation: Generation = { ...nothingYet, ...own, actsFor, retryOf, deadlineAt, createdAt }
  return { generation, held: claims ? heldOf(generation, rows[0], readAt) : null }
}

/**
 * Locks the thread that a run continues and the run that it retries, so that retention does not remove them meanwhile: whoever
 * comes second sees what the first has done.
 */
function keptHistory({ threadId, retryOf }: NewGeneration): SQL {
  return sql.join([
    threadId === null ? sql`` : sql`kept as (select id from threads where id = ${threadId} for key share),`,
    retryOf
      ? sql`retried as (select id from generations where id = ${retryOf.generationId} for key share),`
      : sql``,
  ])
}

const retriedIsKept = ({ retryOf }: NewGeneration): SQL =>
  retryOf ? sql`exists (select 1 from retried)` : sql`true`

/** A thread that is named by its client may be new. */
function threadIsKept({ threadId }: NewGeneration, isNew: boolean): SQL {
  if (threadId === null) return sql`true`
  return isNew
    ? sql`(exists (select 1 from t) or exists (select 1 from kept))`
    : sql`exists (select 1 from kept)`
}

/** The state of a new row: of this process, or for any worker. */
const ofThisProcess = { status: 'RUNNING', startedAt: sql`now()`, epoch: 1 }
const ofAnyWorker = { status: 'QUEUED', wakeAt: sql`now()` }

/** The column by which a search finds the run. */
export function searchOf({ agent, messages }: Pick<NewGeneration, 'agent' | 'messages'>): SQL {
  return vectorOf(sql`${wordsOfRun(agent.name, messages)}::text`)
}

/** What is inserted with a generation that has it: client tools and a callback. */
function extrasOf(
  ctx: Ctx,
  { settings, callback }: NewGeneration,
  own: { id: string; projectId: string },
): SQL[] {
  const { projectId } = own
  return [
    ...insertClientTools(settings.clientTools ?? [], { projectId, by: ctx.principal.id }),
    ...insertCallback(ctx, own, callback),
  ]
}

interface Written {
  createdMs: number
  deadlineMs: number
  toolVersions: ToolVersions
  /** No pause holds it. */
  free: boolean
}

function heldOf(
  queued: Generation,
  { toolVersions, free, createdMs: now }: Written,
  readAt: Moment,
): HeldGeneration {
  const { id, projectId, lastSeq, createdAt: startedAt } = queued
  const generation: Generation = { ...queued, storedStatus: 'RUNNING', startedAt }
  const claimed = { generation, calls: [], steps: [], toolVersions, agreed: [], now, paused: !free, readAt }
  return { id, projectId, epoch: 1, was: 'QUEUED', lastSeq, parent: null, claimed }
}

/** The other fields of a new generation. */
const nothingYet = {
  storedStatus: 'QUEUED',
  stepCount: 0,
  attempt: 0,
  nextStep: null,
  model: null,
  stopReason: null,
  truncated: false,
  error: null,
  output: null,
  inputTokens: 0,
  outputTokens: 0,
  parentId: null,
  parentCallId: null,
  rootId: null,
  depth: 0,
  cancelRequestedAt: null,
  cancelReason: null,
  startedAt: null,
  finishedAt: null,
} as const

/**
 * Threads: conversations of an agent. A generation begins one of its own, or one is opened before its first generation:
 * by a client with an id that it chose, or with messages that it begins with.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { AppError, invalidAt, notFound } from '../../core/errors.ts'
import { idPrefixes, newId } from '../../core/ids.ts'
import { canonicalJson } from '../../core/json.ts'
import type { Page } from '../../core/page.ts'
import { jsonb, query } from '../../store/db/database.ts'
import { listPage } from '../../store/db/keyset.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { threads } from '../../store/db/tables/generations.ts'
import { insertSelect } from '../../store/db/write.ts'
import { assertMay, eachSeen, holds, type Ctx } from '../access/index.ts'
import { findAgent, type Agent } from '../agents/index.ts'
import { givenMessage, messagesShape } from './given-messages.ts'
import type { Message } from './model/message.ts'

export interface Thread {
  id: string
  projectId: string
  /** Null for a thread that was opened without an agent and has no generation yet. */
  agentId: string | null
  /** The id that a client chose for it; null for other threads. */
  externalId: string | null
  /** What it begins with, before its first generation. */
  messages: Message[]
  /** The principal that created it; null in older rows. */
  createdBy: string | null
  createdAt: Date
  /** When it was closed for new generations; null while it is open. */
  closedAt: Date | null
  /** When the first message was added that waits for the next generation; null when none waits. */
  waitingSince: Date | null
}

/** A client's own id of a thread. */
export const externalIdShape = text(200, 1)

/** The id of the thread that a client names by an id of its own: the same for every caller with the same agent. */
export function externalThreadId(agentId: string, externalId: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([agentId, externalId]))
    .digest('hex')
  return `${idPrefixes.thread}_${BigInt(`0x${digest}`).toString(36).padStart(24, '0').slice(-24)}`
}

const createShape = z.object({
  agentId: z.string(),
  externalId: externalIdShape.nullish(),
  messages: messagesShape.nullish(),
})

export type CreateThreadInput = z.input<typeof createShape>

/**
 * Opens a thread, with messages that it begins with. A repeat with the same `externalId` returns the thread that
 * exists, also when a generation has begun it; CONFLICT when it was opened with other messages or was closed. Action
 * `generations:Start` on the agent.
 */
export async function createThread(ctx: Ctx, input: CreateThreadInput): Promise<Thread> {
  const given = check(createShape, input)
  const agent = await findAgent(ctx, given.agentId)
  await assertStarts(ctx, agent)
  const { externalId = null } = given
  const messages = (given.messages ?? []).map((message) => givenMessage(message))
  const id = externalId === null ? newId('thread') : externalThreadId(agent.id, externalId)
  const row = { id, projectId: agent.projectId, agentId: agent.id, externalId, createdBy: ctx.principal.id }
  await query(
    ctx.db,
    sql`${insertSelect(threads, { ...row, messages: messages.length > 0 ? jsonb(messages) : null })}
      on conflict (id) do nothing`,
  )
  await assertThread(ctx, agent, id)
  const [thread] = await loadThreads(ctx, [id])
  if (messages.length > 0 && canonicalJson(thread!.messages) !== canonicalJson(messages))
    throw new AppError('CONFLICT', 'A thread with this externalId exists and began with other messages.')
  return thread!
}

/** Threads by id, null for what does not exist for the caller. Action `generations:Get` on each. */
export async function getThreads(ctx: Ctx, ids: readonly string[]): Promise<(Thread | null)[]> {
  return eachSeen(
    ctx,
    ids,
    await loadThreads(ctx, ids),
    'generations:Get',
    ({ id }) => `thread/${id}`,
    ({ createdBy }) => ({ by: createdBy }),
  )
}

/** The threads of an agent, newest first, or the one that a client named so. Action `generations:List`. */
export async function listThreads(
  ctx: Ctx,
  input: { agentId: string; externalId?: string | null | undefined; page: Page },
): Promise<Thread[]> {
  const { externalId } = check(z.object({ externalId: externalIdShape.nullish() }), input, [])
  const agent = await findAgent(ctx, input.agentId)
  await assertMay(ctx, 'generations:List', agent.projectId, 'thread/*')
  const named =
    typeof externalId === 'string'
      ? sql` and ${threads.id} = ${externalThreadId(agent.id, externalId)}`
      : sql``
  const where = sql`${threads.agentId} = ${agent.id}${named}`
  return (await listPage(ctx.db, threads, agent.projectId, input.page, where)).map(threadOf)
}

/** Threads by id. Checks no permission. */
export async function loadThreads({ db }: Pick<Ctx, 'db'>, ids: readonly string[]): Promise<Thread[]> {
  if (ids.length === 0) return []
  return (await selectRows(db, threads, sql`where id in ${[...ids]}`)).map(threadOf)
}

function threadOf(row: typeof threads.$inferSelect): Thread {
  return { ...row, messages: (row.messages ?? []) as Message[] }
}

interface Place {
  agent: Agent
  threadId: string
}

async function assertStarts(ctx: Ctx, agent: Agent): Promise<void> {
  await assertMay(ctx, 'generations:Start', agent.projectId, `agent/${agent.id}`, { agentId: agent.id })
}

/** Creates the thread of a session. Idempotent. Action `generations:Start` on the agent. NOT_FOUND when it was closed. */
export async function openThread(ctx: Ctx, { agent, threadId }: Place): Promise<void> {
  await assertStarts(ctx, agent)
  const row = { id: threadId, projectId: agent.projectId, agentId: agent.id, createdBy: ctx.principal.id }
  await query(ctx.db, sql`${insertSelect(threads, row)} on conflict (id) do nothing`)
  await assertThread(ctx, agent, threadId)
}

/**
 * Closes the thread for new generations; running ones continue. Idempotent. Action `generations:Start` on the agent.
 */
export async function closeThread(ctx: Ctx, { agent, threadId }: Place): Promise<void> {
  await assertStarts(ctx, agent)
  await query(
    ctx.db,
    sql`insert into threads (id, project_id, agent_id, created_by, closed_at)
      values (${threadId}, ${agent.projectId}, ${agent.id}, ${ctx.principal.id}, now())
      on conflict (id) do update set closed_at = coalesce(threads.closed_at, now())
        where threads.project_id = excluded.project_id and threads.agent_id = excluded.agent_id`,
  )
}

/** Whether the thread was closed; false for a thread that does not exist. Checks no permission. */
export async function isThreadClosed(ctx: Pick<Ctx, 'db'>, threadId: string): Promise<boolean> {
  const rows = await query(
    ctx.db,
    sql`select 1 from threads where id = ${threadId} and closed_at is not null`,
  )
  return rows.length > 0
}

/** A thread that a generation continues. */
export interface ContinuedThread {
  /** Null when the generation is its first one and gives it its agent. */
  agentId: string | null
  waiting: WaitingMessages | null
}

/** Messages of a thread that wait for its next generation, and the id that this will have. */
export interface WaitingMessages {
  generationId: string
  messages: Message[]
}

/**
 * The thread as a generation of the agent finds it. Throws NOT_FOUND when it does not exist for the caller or was closed,
 * INVALID when it belongs to another agent. A caller who continues a thread can make the model repeat its history, so a
 * thread of another key, or with generations of other keys, requires the action `generations:Get` on it. With `mayBeNew`
 * a thread that does not exist is null. With a null agent it may have any.
 */
export async function assertThread(
  ctx: Ctx,
  { projectId, id: agentId }: { projectId: string; id: string | null },
  threadId: string,
  mayBeNew = false,
): Promise<ContinuedThread | null> {
  const rows = await query<ThreadRow>(
    ctx.db,
    sql`select t.agent_id as "agentId", t.closed_at is not null as closed,
        t.waiting_id as "waitingId", t.waiting_messages as waiting,
        case when g.id is not null then 'generation/' || g.id
          when (t.messages is not null or t.waiting_id is not null) and t.created_by <> ${ctx.principal.id}
            then 'thread/' || t.id end as "foreign",
        coalesce(g.requested_by, t.created_by) as by
      from threads as t
      left join lateral (select id, requested_by from generations where thread_id = t.id
        and requested_by <> ${ctx.principal.id} order by created_at desc, id desc limit 1) as g on true
      where t.id = ${threadId} and t.project_id = ${projectId}`,
  )
  const [thread] = rows
  if (!thread && mayBeNew) return null
  const foreign = thread?.foreign ?? null
  if (!thread || thread.closed || (foreign !== null && !holds(ctx.principal, { by: thread.by })))
    throw notFound('thread', threadId)
  if (foreign !== null) await assertMay(ctx, 'generations:Get', projectId, foreign)
  if (agentId !== null && thread.agentId !== null && thread.agentId !== agentId)
    throw invalidAt(['input', 'threadId'], 'belongs to another agent')
  const { waitingId: generationId, waiting: messages } = thread
  return { agentId: thread.agentId, waiting: generationId ? { generationId, messages: messages! } : null }
}

interface ThreadRow {
  agentId: string | null
  closed: boolean
  waitingId: string | null
  waiting: Message[] | null
  foreign: string | null
  by: string | null
}

/**
 * Threads: conversations of an agent. A generation begins one of its own, or one is opened before its first generation:
 * by a client with an id that it chose, or with messages that it begins with.
 */
import * as view from '../../core/view.ts'
import { z } from 'zod'
import { text, check } from '../../core/check.ts'
import { choice, openPart, entity, idOf, optional, part } from '../../core/shapes.ts'
import { type FilePart, type Message, userMessage } from '../models/index.ts'
import { createHash } from 'node:crypto'
import { and, eq } from 'drizzle-orm'
import { AppError, invalidAt, notFound } from '../../core/errors.ts'
import { idPrefixes, newId } from '../../core/ids.ts'
import { canonicalJson, writeJson } from '../../core/json.ts'
import type { Page } from '../../core/page.ts'
import { jsonb, query } from '../../store/db/database.ts'
import { listPage } from '../../store/db/lists.ts'
import { selectRows, insertSelect } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { threads } from '../../store/db/tables/generations.ts'
import {
  askerOf,
  assertMay,
  visibleRows,
  holds,
  isWithinReach,
  ownershipCondition,
  type Ctx,
  operation,
} from '../access/index.ts'
import { findAgent, type Agent } from '../agents/index.ts'

/** The text of one message. */
export const contentShape = text(500_000, 1)

export const messageRole = choice('MessageRole', 'The author of a message.', {
  USER: 'The user wrote the message.',
  ASSISTANT: 'The model wrote the message in an earlier turn.',
})

export const messagesShape = z
  .array(
    openPart('MessageInput', 'One message of a conversation.', {
      role: messageRole.describe('The author of the message.'),
      content: contentShape.describe('The text of the message.'),
    }),
  )
  .min(1, 'must not be empty')
  .max(1000)

/** The message as it is stored; `files` are added to one of the user. Pure. */
export function givenMessage(
  { role, content }: { role: 'USER' | 'ASSISTANT'; content: string },
  files: FilePart[] = [],
): Message {
  if (role === 'USER') return userMessage(content, files)
  return { v: 1, role: 'assistant', parts: [{ type: 'text', text: content }] }
}

export const threadShape = part(
  'Thread',
  'A conversation of an agent: its generations share their history.',
  {
    id: idOf('thread'),
    agentId: view
      .object(
        'agent',
        'Agent',
        'The agent as it is now; null when it was deleted or is hidden from this API key, and for a thread that was ' +
          'opened without an agent until its first generation.',
      )
      .nullable(),
    externalId: view.text('The id that a client chose for the thread; null for other threads.').nullable(),
    createdBy: view
      .id('The id of the API key or person that created the thread; null for older threads.')
      .nullable(),
    createdAt: view.date('When the thread was created.'),
    closedAt: view.date('When the thread was closed for new generations; null while it is open.').nullable(),
  },
)
export interface Thread extends z.output<typeof threadShape> {
  projectId: string
  /** What it begins with, before its first generation. */
  messages: Message[]
}

/** A client's own id of a thread. */
export const externalIdShape = text(200, 1)

/**
 * The ids that a thread may have which a caller names by an id of its own: the one that it gets, and the one that it got
 * from earlier releases, where every caller had the same. The second counts only for a thread that the caller created. For
 * each person for whom a program acts, the same name is that of another thread.
 */
export function namedThreadIds(
  { principal }: Pick<Ctx, 'principal'>,
  agentId: string,
  externalId: string,
): [string, string] {
  const own = digestId([agentId, askerOf(principal), externalId])
  return [own, principal.actsFor === undefined ? digestId([agentId, externalId]) : own]
}

function digestId(parts: readonly string[]): string {
  const digest = createHash('sha256').update(writeJson(parts)).digest('hex')
  return `${idPrefixes.thread}_${BigInt(`0x${digest}`).toString(36).padStart(24, '0').slice(-24)}`
}

/** CONFLICT when the thread was opened with other messages or was closed; one that a generation has begun is returned. */
export const createThread = operation({
  name: 'createThread',
  does: 'Opens a thread before its first generation. A repeat with the same externalId returns the thread that exists.',
  permission: 'generations:Start',
  input: z
    .object({
      agentId: idOf('agent'),
      externalId: optional(
        externalIdShape.describe(
          'An id of your own, 1 to 200 characters, which names one thread of the agent.',
        ),
        'none',
      ),
      messages: optional(
        messagesShape.describe(
          'The conversation so far, 1 to 1000 messages: the history of its generations.',
        ),
        'none',
      ),
    })
    .describe('A thread to be opened.'),
  payload: z
    .object({ thread: entity<Thread>()('Thread').describe('The thread after the mutation.') })
    .describe('The thread that was opened.'),
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(ctx, given) {
    const agent = await findAgent(ctx, given.agentId)
    await assertStarts(ctx, agent)
    const externalId = given.externalId ?? null
    const messages = (given.messages ?? []).map((message) => givenMessage(message))
    const id = externalId === null ? newId('thread') : await namedThreadId(ctx, agent, externalId)
    const row = { id, projectId: agent.projectId, agentId: agent.id, externalId, createdBy: ctx.principal.id }
    await query(
      ctx.db,
      sql`${insertSelect(threads, { ...row, messages: messages.length > 0 ? jsonb(messages) : null })}
        on conflict (id) do nothing`,
    )
    await assertThread(ctx, agent, [id])
    const [thread] = await loadThreads(ctx, [id])
    if (messages.length > 0 && canonicalJson(thread!.messages) !== canonicalJson(messages))
      throw new AppError('CONFLICT', 'A thread with this externalId exists and began with other messages.')
    return { thread: thread! }
  },
})

/** The id of the thread that the caller names so, whether it exists or not. Checks no permission. */
export async function namedThreadId(ctx: Ctx, agent: Agent, externalId: string): Promise<string> {
  const ids = namedThreadIds(ctx, agent.id, externalId)
  const found = await readThreads(ctx, agent.projectId, ids)
  const known = found.some(({ id }) => id === ids[0])
  return !known && found.some(({ owner }) => owner === ctx.principal.id) ? ids[1] : ids[0]
}

/** Threads by id, null for what does not exist for the caller. Action `generations:Get` on each. */
export async function getThreads(ctx: Ctx, ids: readonly string[]): Promise<(Thread | null)[]> {
  return visibleRows(
    ctx,
    ids,
    await loadThreads(ctx, ids),
    'generations:Get',
    ({ id }) => `thread/${id}`,
    ({ createdBy }) => ({ by: createdBy }),
  )
}

/** The threads of an agent, newest first, or the one that the caller named so. Action `generations:List`. */
export async function listThreads(
  ctx: Ctx,
  input: { agentId: string; externalId?: string | null | undefined; page: Page },
): Promise<Thread[]> {
  const { externalId } = check(z.object({ externalId: externalIdShape.nullish() }), input, [])
  const agent = await findAgent(ctx, input.agentId)
  await assertMay(ctx, 'generations:List', agent.projectId, 'thread/*', { reached: true })
  const where = and(
    eq(threads.agentId, agent.id),
    typeof externalId === 'string' ? eq(threads.id, await namedThreadId(ctx, agent, externalId)) : undefined,
    ownershipCondition(ctx, 'thread/*', threads.createdBy),
  )
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
  await assertThread(ctx, agent, [threadId])
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

/**
 * The id of the thread that a generation of the agent continues. Throws NOT_FOUND when it does not exist for the caller
 * or was closed, INVALID when it belongs to another agent. `ids` is one id, or those of `namedThreadIds`. A caller who continues a thread
 * can make the model repeat its history, so a thread of another key, or with generations of other keys, requires the
 * action `generations:Get` on it; a caller that reaches only its own things continues only threads that it created. With
 * `mayBeNew` a thread that does not exist is null.
 */
export async function assertThread(
  ctx: Ctx,
  { projectId, id: agentId }: Pick<Agent, 'projectId' | 'id'>,
  [threadId, earlierId]: readonly [string, string?],
  mayBeNew = false,
): Promise<string | null> {
  const found = await readThreads(ctx, projectId, earlierId ? [threadId, earlierId] : [threadId])
  const thread =
    found.find(({ id }) => id === threadId) ?? found.find(({ owner }) => owner === ctx.principal.id)
  if (!thread && mayBeNew) return null
  if (!thread || thread.closed) throw notFound('thread', threadId)
  await assertTold(ctx, projectId, thread)
  if (thread.agentId !== agentId) throw invalidAt(['input', 'threadId'], 'belongs to another agent')
  return thread.id
}

/**
 * As `assertThread`, for whoever takes the history of a thread along and adds nothing to it: it may be closed, and of any
 * agent.
 */
export async function assertHistory(
  ctx: Ctx,
  { projectId }: Pick<Agent, 'projectId'>,
  threadId: string,
): Promise<void> {
  const [thread] = await readThreads(ctx, projectId, [threadId])
  if (!thread) throw notFound('thread', threadId)
  await assertTold(ctx, projectId, thread)
}

/** Throws unless what was said in the thread may be told to the caller. */
async function assertTold(ctx: Ctx, projectId: string, thread: ThreadRow): Promise<void> {
  if (!(await mayContinue(ctx, thread))) throw notFound('thread', thread.id)
  if (thread.foreign !== null)
    await assertMay(ctx, 'generations:Get', projectId, thread.foreign, { by: thread.owner })
}

async function mayContinue(ctx: Ctx, { id, foreign, by, owner }: ThreadRow): Promise<boolean> {
  if (foreign !== null && !holds(ctx.principal, { by })) return false
  return isWithinReach(ctx, 'generations:Get', `thread/${id}`, { by: owner })
}

/**
 * `foreign` is the resource that another principal wrote, and `by` who that was; `owner` is who created the thread, in
 * older rows who started its first generation.
 */
function readThreads(ctx: Ctx, projectId: string, ids: readonly string[]): Promise<ThreadRow[]> {
  return query<ThreadRow>(
    ctx.db,
    sql`select t.id, t.agent_id as "agentId", t.closed_at is not null as closed,
        case when g.id is not null then 'generation/' || g.id
          when t.messages is not null and t.created_by <> ${ctx.principal.id} then 'thread/' || t.id end as "foreign",
        coalesce(g.requested_by, t.created_by) as by,
        coalesce(t.created_by, (
          select requested_by from generations where thread_id = t.id order by created_at, id limit 1
        )) as owner
      from threads as t
      left join lateral (select id, requested_by from generations where thread_id = t.id
        and requested_by <> ${ctx.principal.id} order by created_at desc, id desc limit 1) as g on true
      where t.id in ${[...ids]} and t.project_id = ${projectId}`,
  )
}

interface ThreadRow {
  id: string
  agentId: string | null
  closed: boolean
  foreign: string | null
  by: string | null
  owner: string | null
}

/** Messages that are added to a thread between its generations: they are the beginning of the input of the next one. */
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { AppError, invalidAt, notFound } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { atomically, jsonb, query, type Database } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { threads } from '../../store/db/tables/generations.ts'
import { insertSelect } from '../../store/db/write.ts'
import { assertMay, projectOf, reachable, rememberRequest, type Ctx } from '../access/index.ts'
import type { AttachmentsInput } from '../files/index.ts'
import { contentShape, givenMessage } from './given-messages.ts'
import { filesOf } from './message-attachments.ts'
import type { Message } from './model/message.ts'
import { findThreadMessage, messageIdOf, ownerOfMessage, type ThreadMessage } from './thread-messages.ts'
import { assertThread, loadThreads, type ContinuedThread, type Thread } from './threads.ts'
import { shownMessage } from './input.ts'

/** How many messages of a thread may wait, and how many bytes they may have together. */
const most = { messages: 1000, bytes: 1_048_576 }

const addedShape = z.object({ role: z.enum(['USER', 'ASSISTANT']), content: contentShape })

/** A message to be added. `attachments` are files of a message of the user. */
export interface AddedMessage {
  role: 'USER' | 'ASSISTANT'
  content: string
  attachments?: AttachmentsInput | null | undefined
}

/** The key of a request that may be repeated, and the request. */
export interface Repeatable {
  key: string
  request: unknown
}

/**
 * Opens a thread that has no agent before its first generation, with messages that wait for it. A repeat with the same key
 * returns the first one. Action `generations:Start` on every agent (`agent/*`): nobody knows yet which one it will be.
 */
export async function openThreadWithoutAgent(
  ctx: Ctx,
  messages: readonly AddedMessage[],
  repeatable: Repeatable | null = null,
): Promise<Thread> {
  const projectId = projectOf(ctx, null)
  await assertMay(ctx, 'generations:Start', projectId, 'agent/*')
  const added = await storedMessages(ctx, projectId, messages)
  const id = newId('thread')
  const waiting =
    added.length > 0
      ? { waitingMessages: jsonb(added), waitingId: newId('generation'), waitingSince: sql`now()` }
      : {}
  const insert = insertSelect(threads, { id, projectId, createdBy: ctx.principal.id, ...waiting })
  const openedId = await atomically(ctx.db, async (tx) => {
    const earlier = repeatable && (await recall(tx, ctx, projectId, repeatable, 'threads:Open', id))
    if (!earlier) await query(tx, insert)
    return earlier ?? id
  })
  return (await loadThreads(ctx, [openedId]))[0]!
}

/** A message for a thread. */
export interface AddThreadMessageInput extends AddedMessage {
  threadId: string
  idempotencyKey?: string | null | undefined
}

/**
 * Adds a message to a thread: the next generation gets it, after those that wait already and before its own. It keeps its
 * id. With `idempotencyKey` a repeat returns the first one; `request` is what a repeat must be equal to, by default the
 * input. Action `generations:Start` on the agent of the thread, and what continuing it requires. NOT_FOUND when it does not
 * exist for the caller or was closed; LIMITED beyond 1,000 messages or 1 MiB that wait.
 */
export async function addThreadMessage(
  ctx: Ctx,
  input: AddThreadMessageInput,
  request?: unknown,
): Promise<ThreadMessage> {
  const { threadId, idempotencyKey, ...message } = input
  const key = check(text(200, 1).nullish(), idempotencyKey, ['input', 'idempotencyKey'])
  const thread = reachable(ctx, (await loadThreads(ctx, [threadId]))[0], 'thread', threadId)
  const { projectId, agentId, createdBy: by } = thread
  await assertMay(ctx, 'generations:Start', projectId, `agent/${agentId ?? '*'}`, { by })
  await assertThread(ctx, { projectId, id: agentId }, threadId)
  const added = await storedMessage(ctx, projectId, message, ['input'])
  if (!key) return append(ctx, ctx.db, threadId, added)
  const repeatable = { key, request: request ?? message, threadId }
  const made = await atomically(ctx.db, async (tx) => {
    const id = await nextMessageId(tx, threadId)
    const earlier = await recall(tx, ctx, projectId, repeatable, 'threads:AddMessage', id)
    return earlier ?? append(ctx, tx, threadId, added, id)
  })
  if (typeof made !== 'string') return made
  const earlier = await findThreadMessage(ctx, thread, made)
  if (!earlier) throw notFound('message', made)
  return earlier
}

function recall(
  tx: Database,
  ctx: Ctx,
  projectId: string,
  { key, ...request }: Repeatable & { threadId?: string },
  operation: string,
  id: string,
): Promise<string | null> {
  return rememberRequest(tx, { projectId, principalId: ctx.principal.id, operation, key, request }, id)
}

/** The id of the message that is added next. It stays so in this transaction, which holds the thread. */
async function nextMessageId(tx: Database, threadId: string): Promise<string> {
  const [row] = await query<{ owner: string; n: number }>(
    tx,
    sql`select coalesce(waiting_id, ${newId('generation')}) as owner,
        coalesce(jsonb_array_length(waiting_messages), 0) as n
      from threads where id = ${threadId} for update`,
  )
  return messageIdOf({ ...row!, step: 0 })
}

/** `id`: the one that was foreseen for the message. */
async function append(
  ctx: Ctx,
  db: Database,
  threadId: string,
  message: Message,
  id?: string,
): Promise<ThreadMessage> {
  const bytes = Buffer.byteLength(JSON.stringify(message))
  const generationId = id ? ownerOfMessage(id) : newId('generation')
  const [row] = await query<{ owner: string; n: number; ms: number }>(
    db,
    sql`update threads set waiting_messages = coalesce(waiting_messages, '[]') || ${jsonb([message])},
        waiting_id = coalesce(waiting_id, ${generationId}), waiting_since = coalesce(waiting_since, now())
      where id = ${threadId} and closed_at is null
        and coalesce(jsonb_array_length(waiting_messages), 0) < ${most.messages}::int
        and coalesce(octet_length(waiting_messages::text), 0) + ${bytes}::int <= ${most.bytes}::int
      returning waiting_id as owner, jsonb_array_length(waiting_messages) - 1 as n,
        (extract(epoch from waiting_since) * 1000)::float8 as ms`,
  )
  if (!row) throw await refusal(ctx, threadId)
  return {
    ...shownMessage(message),
    id: messageIdOf({ ...row, step: 0 }),
    generationId: null,
    createdAt: new Date(row.ms),
  }
}

async function refusal(ctx: Ctx, threadId: string): Promise<AppError> {
  const [thread] = await loadThreads(ctx, [threadId])
  if (!thread || thread.closedAt) return notFound('thread', threadId)
  return new AppError(
    'LIMITED',
    `At most ${most.messages} messages with ${most.bytes} bytes may wait for the next run of a thread. Start the run.`,
  )
}

async function storedMessages(
  ctx: Ctx,
  projectId: string,
  given: readonly AddedMessage[],
): Promise<Message[]> {
  if (given.length > most.messages)
    throw invalidAt(['messages'], `must have at most ${most.messages} entries`)
  return Promise.all(
    given.map((message, i) => storedMessage(ctx, projectId, message, ['messages', String(i)])),
  )
}

async function storedMessage(
  ctx: Ctx,
  projectId: string,
  given: AddedMessage,
  root: string[],
): Promise<Message> {
  const message = check(addedShape, given, root)
  const { attachments } = given
  if (message.role === 'ASSISTANT' && attachments?.length)
    throw invalidAt([...root, 'attachments'], 'belong to a message of the user')
  const files = attachments ? await filesOf(ctx, projectId, attachments, [...root, 'attachments']) : []
  return givenMessage(message, files)
}

/**
 * Gives the thread its agent and takes the messages that wait, as a statement that returns one row; none, with nothing
 * written, when the thread is not as it was read or `holds` does not hold.
 */
export function takeWaiting(
  threadId: string,
  agentId: string,
  { waiting }: ContinuedThread,
  holds: SQL,
): SQL {
  const { generationId = null, messages = [] } = waiting ?? {}
  return sql`update threads set agent_id = ${agentId}, waiting_messages = null, waiting_id = null, waiting_since = null
    where id = ${threadId} and closed_at is null and (agent_id is null or agent_id = ${agentId})
      and waiting_id is not distinct from ${generationId}::text
      and coalesce(jsonb_array_length(waiting_messages), 0) = ${messages.length}::int and ${holds}
    returning 1`
}

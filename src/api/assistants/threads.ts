/** Threads and messages of the Assistants API. Messages that are added wait in the thread for its next run. */
import { notFound } from '../../core/errors.ts'
import type { Ctx } from '../../domain/access/index.ts'
import {
  addThreadMessage,
  findThreadMessage,
  listThreadMessages,
  openThreadWithoutAgent,
  type AddedMessage,
} from '../../domain/generations/index.ts'
import type { KeyedReply, KeyedRequest } from '../keyed.ts'
import { attachmentsOf } from '../runs/given-files.ts'
import { keyOf } from '../runs/openai-requests.ts'
import { readMessage, readThread, type GivenMessage } from './input.ts'
import { listBody, pageOf, readListing } from './lists.ts'
import { bodyOf, threadOf } from './request.ts'
import { shownMessage, shownThread } from './shapes.ts'

/** A repeat without an Idempotency-Key opens another thread. */
export async function createThread(request: KeyedRequest): Promise<KeyedReply> {
  const { ctx } = request
  const body = await bodyOf(request)
  const messages = readThread(body)
  const added = await withFiles(ctx, ctx.principal.projectId, messages)
  const key = keyOf(request)
  const thread = await openThreadWithoutAgent(ctx, added, key === null ? null : { key, request: body })
  return { status: 200, body: shownThread(thread) }
}

export async function retrieveThread({ ctx }: KeyedRequest, [id]: string[]): Promise<KeyedReply> {
  return { status: 200, body: shownThread(await threadOf(ctx, id!)) }
}

export async function addMessage(request: KeyedRequest, [id]: string[]): Promise<KeyedReply> {
  const { ctx } = request
  const body = await bodyOf(request)
  const given = readMessage(body)
  const thread = await threadOf(ctx, id!)
  const [added] = await withFiles(ctx, thread.projectId, [given])
  const input = { threadId: thread.id, ...added!, idempotencyKey: keyOf(request) }
  const message = await addThreadMessage(ctx, input, body)
  return { status: 200, body: shownMessage(thread, message) }
}

export async function listMessages({ ctx, query }: KeyedRequest, [id]: string[]): Promise<KeyedReply> {
  const listing = readListing(query)
  const thread = await threadOf(ctx, id!)
  const page = await pageOf(listing, 'asc', (message) => findThreadMessage(ctx, thread, message))
  const found = await listThreadMessages(ctx, thread, page)
  const data = found.map((message) => shownMessage(thread, message))
  return { status: 200, body: listBody(data, listing.limit) }
}

export async function retrieveMessage({ ctx }: KeyedRequest, [threadId, id]: string[]): Promise<KeyedReply> {
  const thread = await threadOf(ctx, threadId!)
  const message = await findThreadMessage(ctx, thread, id!)
  if (!message) throw notFound('message', id!)
  return { status: 200, body: shownMessage(thread, message) }
}

/** The messages as the domain takes them; bytes are stored as files of the project first. */
export async function withFiles(
  ctx: Ctx,
  projectId: string,
  messages: readonly GivenMessage[],
): Promise<AddedMessage[]> {
  const added: AddedMessage[] = []
  for (const { role, content, files } of messages)
    added.push({
      role,
      content,
      ...(files.length > 0 ? { attachments: await attachmentsOf(ctx, projectId, files) } : {}),
    })
  return added
}

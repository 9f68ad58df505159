/** What the routes of the Assistants API share: bodies, and the thread or run that a path names. */
import { invalidAt, notFound } from '../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import type { Ctx } from '../../domain/access/index.ts'
import { getGenerations, getThreads, type Generation, type Thread } from '../../domain/generations/index.ts'
import type { KeyedRequest } from '../keyed.ts'

export async function bodyOf(request: KeyedRequest): Promise<JsonObject> {
  const body = (await request.body()) ?? {}
  if (!isJsonObject(body)) throw invalidAt(['body'], 'must be a JSON object')
  return body
}

export async function threadOf(ctx: Ctx, id: string): Promise<Thread> {
  const [thread] = await getThreads(ctx, [id])
  if (!thread) throw notFound('thread', id)
  return thread
}

/** Null for a run of another thread, as for one that does not exist. */
export async function findRun(ctx: Ctx, threadId: string, id: string): Promise<Generation | null> {
  const [run] = await getGenerations(ctx, [id])
  return run?.threadId === threadId ? run : null
}

export async function runOf(ctx: Ctx, threadId: string, id: string): Promise<Generation> {
  const run = await findRun(ctx, threadId, id)
  if (!run) throw notFound('run', id)
  return run
}

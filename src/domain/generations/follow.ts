/** Following the log: pages and streams of a generation, the feed of a project, and cursors to go on from. */
import { feedSource, generationSource } from '../../store/events/live.ts'
import { numberAll } from '../../store/events/numbering.ts'
import {
  beginning,
  encodeFeedCursor,
  generationPosition,
  type Position,
} from '../../store/events/position.ts'
import { newestInFeed, positionInFeed, readGeneration, type EventPage } from '../../store/events/read.ts'
import { feedPosition } from '../../store/events/resume.ts'
import { openStream, type StreamItem } from '../../store/events/stream.ts'
import { assertMay, projectOf, unauthenticated, type Ctx } from '../access/index.ts'
import { findGeneration } from './read.ts'
import type { Generation } from './generation.ts'

/**
 * The log of a generation after a cursor, for callers that poll. Action `generations:Get`. CURSOR_EXPIRED when the event of
 * the cursor is not in the log any more.
 */
export async function readEvents(
  ctx: Ctx,
  generation: Generation,
  input: { after: string | null; first: number },
): Promise<EventPage> {
  const { id, projectId, requestedBy: by } = generation
  await assertMay(ctx, 'generations:Get', projectId, `generation/${id}`, { by })
  return readGeneration(ctx.db, generation.id, generationPosition(input.after, generation.id), input.first)
}

const last = new Set([
  'GENERATION_COMPLETED',
  'GENERATION_FAILED',
  'GENERATION_CANCELLED',
  'GENERATION_EXPIRED',
])

/**
 * Every event of a generation after the cursor (null: from the beginning), then live with the text on its way, until
 * its last event; at once when the cursor is that of the last one. Action `events:Subscribe` on the generation, checked
 * before the stream opens. CURSOR_EXPIRED, also before, when the event of the cursor is not in the log any more.
 */
export async function watchGeneration(
  ctx: Ctx,
  input: { generationId: string; after?: string | null | undefined },
): Promise<AsyncIterableIterator<StreamItem>> {
  const { id, projectId, requestedBy: by } = await findGeneration(ctx, input.generationId)
  await assertMay(ctx, 'events:Subscribe', projectId, `generation/${id}`, { by })
  const source = generationSource(ctx.db, id)
  const after = generationPosition(input.after, id)
  if (after.event) await source.read(after, 1)
  const stream = openStream(ctx.live, { source, after, deltas: true, isLast: (type) => last.has(type) })
  return whileWelcome(ctx, stream)
}

/**
 * Every event of a project after the cursor, then live, without end. Without a cursor it begins now, with "0" at the
 * beginning of the log. Action `events:Subscribe` on the project. CURSOR_EXPIRED, before the stream opens, when the event of
 * the cursor is not in the log any more.
 */
export async function watchProject(
  ctx: Ctx,
  input: {
    projectId?: string | null | undefined
    after?: string | null | undefined
    types?: readonly string[] | null | undefined
  },
): Promise<AsyncIterableIterator<StreamItem>> {
  const projectId = projectOf(ctx, input.projectId)
  await assertMay(ctx, 'events:Subscribe', projectId, `project/${projectId}`)
  const source = feedSource(ctx.db, projectId)
  const after = input.after
    ? await feedPosition(ctx.db, ctx.pubsub, input.after, projectId)
    : await endOfFeed(ctx, projectId)
  if (input.after && after.event) await source.read(after, 1)
  const stream = openStream(ctx.live, { source, after, types: input.types, deltas: false })
  return whileWelcome(ctx, stream)
}

/** Behind everything that is committed by now. */
async function endOfFeed(ctx: Ctx, projectId: string): Promise<Position> {
  const newest = await newestInFeed(ctx.db, projectId, await numberAll(ctx.db, ctx.pubsub))
  return newest ? positionInFeed(newest) : beginning
}

/**
 * The newest place in the whole log, to be taken before a snapshot is read: see feedCursor. Everything that was committed
 * before is at or before it.
 */
export function newestPosition(ctx: Ctx): Promise<number> {
  return numberAll(ctx.db, ctx.pubsub)
}

/**
 * The cursor of a project's feed at a newest position: following the feed after it gives everything that was committed
 * since that position was taken, and nothing that was committed before. Action `events:Subscribe` on the project.
 */
export async function feedCursor(ctx: Ctx, projectId: string, newest: number): Promise<string> {
  await assertMay(ctx, 'events:Subscribe', projectId, `project/${projectId}`)
  const event = await newestInFeed(ctx.db, projectId, newest)
  return event ? encodeFeedCursor(event) : '0'
}

/** The stream until its end, or until the caller's key is revoked or expires: then it fails as any request would. */
function whileWelcome<T>(ctx: Ctx, stream: AsyncIterableIterator<T>): AsyncIterableIterator<T> {
  let banner = true
  const forget = ctx.revocations.onRevoked(ctx.principal, () => {
    banner = false
    void stream.return?.()
  })
  return {
    async next() {
      try {
        const item = await stream.next()
        if (!banner) throw unauthenticated()
        if (item.done) forget()
        return item
      } catch (error) {
        // Nobody calls return() after a failure.
        forget()
        throw error
      }
    },
    async return() {
      forget()
      await stream.return?.()
      return { done: true, value: undefined }
    },
    async throw(error) {
      forget()
      await stream.return?.()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Reads and follows the events of a generation. */
import { assertMay, untilRevoked, type Ctx } from '../access/index.ts'
import {
  followGeneration,
  readGenerationEvents,
  type EventStream,
  type RecordedEvent,
} from '../events/index.ts'
import { findGeneration } from './read.ts'
import type { Generation } from './generation.ts'

/**
 * At most `first` events of a generation after a cursor, for clients that poll. Action `generations:Get`.
 * CURSOR_EXPIRED when the event of the cursor is not in the log any more. A number instead of a cursor is that of an
 * event that exists.
 */
export async function readEvents(
  ctx: Ctx,
  generation: Generation,
  input: { after: string | number | null; first: number },
): Promise<{ events: RecordedEvent[]; more: boolean }> {
  const { id, projectId, requestedBy: by } = generation
  await assertMay(ctx, 'generations:Get', projectId, `generation/${id}`, { by })
  return readGenerationEvents(ctx, id, input)
}

/**
 * Every event of a generation after the cursor (null: from the beginning), then live with text deltas, until its last
 * event. Ends at once when the cursor is that of the last event. Action `events:Subscribe` on the generation, checked
 * before the stream opens. CURSOR_EXPIRED, also before the stream opens, when the event of the cursor is not in the
 * log any more.
 */
export async function watchGeneration(
  ctx: Ctx,
  input: { generationId: string; after?: string | number | null | undefined },
): Promise<EventStream> {
  const { id, projectId, requestedBy: by } = await findGeneration(ctx, input.generationId)
  await assertMay(ctx, 'events:Subscribe', projectId, `generation/${id}`, { by })
  return untilRevoked(ctx, await followGeneration(ctx, id, input.after))
}

/** The two subscriptions. Each stream resumes after a cursor. */
import { onAbort } from '../../../core/time.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import { watchProject } from '../../../domain/projects/index.ts'
import {
  encodeFeedCursor,
  encodeGenerationCursor,
  type FeedStream,
  type RecordedEvent,
  type StreamItem,
  type StreamStart,
} from '../../../domain/events/index.ts'
import { watchGeneration } from '../../../domain/generations/index.ts'
import type { EventTypes } from './events.ts'
import type { EventShape, Refs } from '../builder/refs.ts'

export function addSubscriptions(refs: Refs, types: EventTypes): void {
  const { builder } = refs
  builder.subscriptionField('generationEvents', (t) =>
    t.field({
      type: types.GenerationEvent,
      description:
        'All events of a generation after the cursor, then new ones live with TEXT_DELTA, until the last ' +
        'event. Fails with CURSOR_EXPIRED when the event of the cursor is no longer in the log. ' +
        'Permission: events:Subscribe.',
      args: {
        generationId: t.arg.id({
          required: true,
          description: 'The id of the generation; it begins with gen_.',
        }),
        after: t.arg.string({
          description: 'The cursor of the last event that the client has. Default: from the first event.',
        }),
      },
      subscribe: async (_root, args, context) =>
        endingWith(
          context,
          withCursors(context.ctx, await watchGeneration(context.ctx, args), args.after, generationCursors),
        ),
      resolve: renewed,
    }),
  )
  builder.subscriptionField('projectEvents', (t) =>
    t.field({
      type: types.ProjectEvent,
      description:
        'All events of a project after the cursor, then new ones live, without end. Fails with ' +
        'CURSOR_EXPIRED when the event of the cursor is no longer in the log. Permission: events:Subscribe.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        after: t.arg.string({
          description:
            'The cursor of the last event that the client has, or Project.feedCursor; "0" for all events. ' +
            'Default: only new events, after a StreamStartedEvent with the cursor where they begin.',
        }),
        types: t.arg({
          type: [types.EventType],
          description: 'Only events of these types. Default: all types.',
        }),
      },
      subscribe: async (_root, args, context) =>
        endingWith(
          context,
          withCursors(context.ctx, await watchProject(context.ctx, args), args.after, feedCursors),
        ),
      resolve: renewed,
    }),
  )
}

/** Drops the cached rows: what was loaded for an earlier event is stale for this one. */
function renewed(event: EventShape, _args: unknown, context: { renewLoaders(): void }): EventShape {
  context.renewLoaders()
  return event
}

/**
 * Closes the stream when its HTTP request is aborted. Yoga does that too, but not for a client that disconnects before
 * the response begins, or while the response waits for the client to read. Operations of a socket have no request; the
 * socket closes their streams.
 */
function endingWith<T>(context: object, stream: AsyncIterableIterator<T>): AsyncIterableIterator<T> {
  const signal = (context as { request?: Request }).request?.signal
  onAbort(signal, () => void stream.return?.())
  return stream
}

/** How events are shown in one kind of stream. */
interface Cursors {
  encode(event: RecordedEvent): string
  /** Made once for all subscribers that get the same event or text: what is computed for it is shared between them. */
  shapes: WeakMap<object, EventShape>
}

const generationCursors: Cursors = { encode: encodeGenerationCursor, shapes: new WeakMap() }
const feedCursors: Cursors = { encode: encodeFeedCursor, shapes: new WeakMap() }

/** Adds its cursor to each item; a text delta has the cursor of the newest committed event before it. */
function withCursors(
  { clock }: Pick<Ctx, 'clock'>,
  stream: FeedStream,
  after: string | null | undefined,
  { encode, shapes }: Cursors,
): AsyncIterableIterator<EventShape> {
  let last = after ?? ''
  const shape = (item: StreamItem | { start: StreamStart }): EventShape => {
    if ('start' in item) return { ...item.start, type: 'STREAM_STARTED', at: new Date(clock.now()) }
    if ('delta' in item) {
      const known = shapes.get(item.delta)
      // The same cursor may be spelled in another way by a client that has resumed.
      if (known?.cursor === last) return known
      const { kind: _kind, after: _after, ...delta } = item.delta
      const made: EventShape = { ...delta, type: 'TEXT_DELTA', at: new Date(clock.now()), cursor: last }
      shapes.set(item.delta, made)
      return made
    }
    const known = shapes.get(item.event)
    const made = known ?? { ...item.event, cursor: encode(item.event) }
    if (!known) shapes.set(item.event, made)
    last = made.cursor
    return made
  }
  return {
    async next() {
      const item = await stream.next()
      return item.done ? { done: true, value: undefined } : { done: false, value: shape(item.value) }
    },
    async return() {
      await stream.return?.()
      return { done: true, value: undefined }
    },
    async throw(error) {
      await stream.throw?.(error)
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

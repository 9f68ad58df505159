/** The two subscriptions: every stream resumes after a cursor. */
import { onAbort } from '../../core/abort.ts'
import { watchProject } from '../../domain/access/index.ts'
import {
  encodeFeedCursor,
  encodeGenerationCursor,
  type EventStream,
  type RecordedEvent,
  type StreamItem,
} from '../../domain/events/index.ts'
import { watchGeneration } from '../../domain/generations/index.ts'
import type { EventTypes } from './events.ts'
import type { EventShape, Refs } from './refs.ts'

export function addSubscriptions(refs: Refs, types: EventTypes): void {
  const { builder } = refs
  builder.subscriptionField('generationEvents', (t) =>
    t.field({
      type: types.GenerationEvent,
      description:
        'Every event of a generation after the cursor, then live with the text on its way, until its last event; at once ' +
        'behind that. CURSOR_EXPIRED when the event of the cursor is not in the log any more.',
      args: {
        generationId: t.arg.id({ required: true, description: 'Begins with gen_.' }),
        after: t.arg.string({
          description: 'The cursor of the last event you have; from the beginning when left out.',
        }),
      },
      subscribe: async (_root, args, context) =>
        endingWith(
          context,
          withCursors(await watchGeneration(context.ctx, args), args.after, encodeGenerationCursor),
        ),
      resolve: renewed,
    }),
  )
  builder.subscriptionField('projectEvents', (t) =>
    t.field({
      type: types.ProjectEvent,
      description:
        'Every event of a project after the cursor, then live, without end. CURSOR_EXPIRED when the event of the cursor ' +
        'is not in the log any more.',
      args: {
        projectId: t.arg.id({ description: "The project; the key's own when left out." }),
        after: t.arg.string({
          description:
            'The cursor of the last event you have, or feedCursor; "0" for the beginning, from now when left out.',
        }),
        types: t.arg({ type: [types.EventType], description: 'Only events of these kinds.' }),
      },
      subscribe: async (_root, args, context) =>
        endingWith(context, withCursors(await watchProject(context.ctx, args), args.after, encodeFeedCursor)),
      resolve: renewed,
    }),
  )
}

/** What was loaded for an earlier event is stale for this one. */
function renewed(event: EventShape, _args: unknown, context: { renewLoaders(): void }): EventShape {
  context.renewLoaders()
  return event
}

/**
 * Frees the stream when its request is over. Yoga does that too, but not for a client that leaves before the answer has
 * begun, or while the answer waits for it to read. A socket ends its operations by itself and has no such request.
 */
function endingWith<T>(context: object, stream: AsyncIterableIterator<T>): AsyncIterableIterator<T> {
  const signal = (context as { request?: Request }).request?.signal
  onAbort(signal, () => void stream.return?.())
  return stream
}

/** Gives every item its cursor; a piece of text on its way has that of the newest event before it. */
function withCursors(
  stream: EventStream,
  after: string | null | undefined,
  encode: (event: RecordedEvent) => string,
): AsyncIterableIterator<EventShape> {
  let last = after ?? ''
  const shape = (item: StreamItem): EventShape => {
    if ('delta' in item) {
      const { kind: _kind, after: _after, ...delta } = item.delta
      return { ...delta, type: 'TEXT_DELTA', at: new Date(), cursor: last }
    }
    last = encode(item.event)
    return { ...item.event, cursor: last }
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

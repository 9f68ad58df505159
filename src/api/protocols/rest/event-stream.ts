/** A run as server-sent events: text as it is written, the events of the log with their cursors, and the state at the end. */
import type { ServerResponse } from 'node:http'
import type { Ctx } from '../../../domain/access/index.ts'
import { encodeGenerationCursor, publicName, type StreamItem } from '../../../domain/events/index.ts'
import { readEvents, watchGeneration, type Generation } from '../../../domain/generations/index.ts'
import { openEventStream, type EventWriter } from '../segments/sse.ts'
import { waitForTurn } from './generation-state.ts'

interface Watched {
  generation: Generation
  /** The cursor to go on from; null: the beginning. */
  after: string | null
  maxMs: number
  /** Called when all was sent to a client that is still there, before the stream ends. */
  sent?: () => Promise<void>
}

/**
 * Streams until the run has ended, waits for its caller, or the time is over; the last event is `result`. Actions
 * `events:Subscribe` and `generations:Get`.
 */
export async function streamRun(
  ctx: Ctx,
  { generation, after, maxMs, sent }: Watched,
  response: ServerResponse,
): Promise<null> {
  const stream = await watchGeneration(ctx, { generationId: generation.id, after })
  let cursor = after
  const left = new AbortController()
  const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' }
  const writer = openEventStream(response, () => left.abort(), headers)
  const turn = waitForTurn(ctx, generation, maxMs, left.signal, true)
  const over = turn.then(
    () => stream.return?.(),
    () => stream.return?.(),
  )
  try {
    for await (const item of stream) {
      if (response.destroyed) return null
      await show(writer, item)
      if ('event' in item) cursor = encodeGenerationCursor(item.event)
    }
    const state = await turn
    // What was committed before that state, and had not come yet when the stream was ended.
    for (let more = true; more;) {
      const page = await readEvents(ctx, generation, { after: cursor, first: 100 })
      for (const event of page.events) {
        await show(writer, { event })
        cursor = encodeGenerationCursor(event)
      }
      more = page.more && !response.destroyed
    }
    await writer.send(state, 'result')
    if (!response.destroyed) await sent?.()
    writer.end()
    return null
  } finally {
    // A stream that has ended with its key waits for no turn.
    left.abort()
    await over
  }
}

function show(writer: EventWriter, item: StreamItem): Promise<boolean> {
  if ('delta' in item) {
    const { stepIndex, attempt, offset, text } = item.delta
    return writer.send({ step_index: stepIndex, attempt, offset, text }, 'text_delta')
  }
  const { event } = item
  const type = publicName(event.type)
  return writer.send(
    { type, at: event.at.toISOString(), data: event.data },
    type,
    encodeGenerationCursor(event),
  )
}

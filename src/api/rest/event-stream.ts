/** A run as server-sent events: text as it is written, the events of the log with their cursors, and the state at the end. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Ctx } from '../../domain/access/index.ts'
import { encodeGenerationCursor, publicName, type StreamItem } from '../../domain/events/index.ts'
import { readEvents, watchGeneration, type Generation } from '../../domain/generations/index.ts'
import { waitForTurn } from './generation-state.ts'

/** How often a comment keeps a silent connection open, in milliseconds. */
const heartbeatMs = 15_000

interface Watched {
  generation: Generation
  /** The cursor to go on from; null: the beginning. */
  after: string | null
  maxMs: number
}

/**
 * Streams until the run has ended, waits for its caller, or the time is over; the last event is `result`. Actions
 * `events:Subscribe` and `generations:Get`.
 */
export async function streamRun(
  ctx: Ctx,
  { generation, after, maxMs }: Watched,
  response: ServerResponse,
  disconnected: AbortSignal,
): Promise<null> {
  const stream = await watchGeneration(ctx, { generationId: generation.id, after })
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  })
  response.flushHeaders()
  const heartbeat = setInterval(() => response.write(': waiting\n\n'), heartbeatMs)
  let cursor = after
  const turn = waitForTurn(ctx, generation, maxMs, disconnected)
  const over = turn.then(
    () => stream.return?.(),
    () => stream.return?.(),
  )
  try {
    for await (const item of stream) {
      if (response.destroyed) return null
      await write(response, shown(item))
      if ('event' in item) cursor = encodeGenerationCursor(item.event)
    }
    const state = await turn
    // What was committed before that state, and had not come yet when the stream was ended.
    for (let more = true; more;) {
      const page = await readEvents(ctx, generation, { after: cursor, first: 100 })
      for (const event of page.events) {
        await write(response, shown({ event }))
        cursor = encodeGenerationCursor(event)
      }
      more = page.more && !response.destroyed
    }
    await write(response, `event: result\ndata: ${JSON.stringify(state)}\n\n`)
    response.end()
    return null
  } finally {
    clearInterval(heartbeat)
    await over
  }
}

function shown(item: StreamItem): string {
  if ('delta' in item) {
    const { stepIndex, attempt, offset, text } = item.delta
    const data = { step_index: stepIndex, attempt, offset, text }
    return `event: text_delta\ndata: ${JSON.stringify(data)}\n\n`
  }
  const { event } = item
  const data = { type: publicName(event.type), at: event.at.toISOString(), data: event.data }
  return `id: ${encodeGenerationCursor(event)}\nevent: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
}

async function write(response: ServerResponse, text: string): Promise<void> {
  if (response.destroyed || response.write(text)) return
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  await once(response, 'drain', { signal: gone.signal }).catch(() => {})
}

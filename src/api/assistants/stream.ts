/** Streams a run as events of the Assistants API, up to the calls that the client is asked for or to the end of the run. */
import type { ServerResponse } from 'node:http'
import type { Ctx } from '../../domain/access/index.ts'
import { getGenerations, getThreads, type Generation } from '../../domain/generations/index.ts'
import { followRun } from '../runs/follow.ts'
import { openEventStream } from '../runs/sse.ts'
import { readSteps } from '../runs/step-reader.ts'
import { RunEvents, type StreamedEvent } from './events.ts'
import { shownRun, shownThread } from './shapes.ts'

export interface StreamedRun {
  run: Generation
  /** The number of the event of its log behind which the stream begins. */
  after: number
  /** What the request has created. */
  begins: ('thread' | 'run')[]
  /** The response of the model whose calls the client has answered: its step began in the stream before. */
  asking?: number | undefined
}

/** The run does not depend on the stream: a client that was cut off polls it, or lists its messages. */
export async function streamRun(
  ctx: Ctx,
  response: ServerResponse,
  { run, after, begins, asking }: StreamedRun,
): Promise<null> {
  const events = new RunEvents(run)
  if (asking !== undefined)
    for (const { step, calls } of await readSteps(ctx, run.id, { from: asking, to: asking }))
      events.goOn(step, calls)
  const gone = new AbortController()
  // Its refusal still has a status of its own.
  const happenings = await followRun(ctx, run, { generationId: run.id, after }, gone.signal, true)
  const writer = openEventStream(response, () => gone.abort())
  const put = async (some: StreamedEvent[]) => {
    for (const { event, data } of some) if (!(await writer.send(data, event))) return false
    return true
  }
  if (await put(await opening(ctx, run, begins)))
    for await (const one of happenings) if (!(await put(events.add(one)))) break
  if (response.destroyed) gone.abort()
  else {
    const [now] = await getGenerations(ctx, [run.id])
    const shown = await shownRun(ctx, now ?? run)
    await put([...events.end(), { event: `thread.run.${String(shown['status'])}`, data: shown }])
    await writer.sendText('[DONE]', 'done')
  }
  writer.end()
  return null
}

async function opening(ctx: Ctx, run: Generation, begins: StreamedRun['begins']): Promise<StreamedEvent[]> {
  const shown = await shownRun(ctx, run)
  const [thread] = begins.includes('thread') ? await getThreads(ctx, [run.threadId]) : []
  const as = (status: string) => ({ ...shown, status, required_action: null })
  return [
    ...(thread ? [{ event: 'thread.created', data: shownThread(thread) }] : []),
    ...(begins.includes('run') ? [{ event: 'thread.run.created', data: as('queued') }] : []),
    { event: 'thread.run.queued', data: as('queued') },
    { event: 'thread.run.in_progress', data: as('in_progress') },
  ]
}

/**
 * AG-UI 1.0 over the runs of agents, for front ends. A thread has the client's own id, and every run
 * of AG-UI is a part of a run here, up to the next pause or the end.
 */
import type { ServerResponse } from 'node:http'
import type { AppError } from '../../../core/errors.ts'
import { asAppError, type Ctx } from '../../../domain/access/index.ts'
import type { StartedSegment } from '../segments/answers.ts'
import { followRun } from '../segments/follow.ts'
import { endsSegment, type RunUpdate } from '../segments/segment-log.ts'
import { openEventStream } from '../segments/sse.ts'
import { type AgUiEvent, RunRendering, type ClientTraits } from './events.ts'
import { findAgentToStart } from '../../../domain/agents/index.ts'
import { decodePathPart, type ApiCall, type AuthenticatedApi } from '../../http/authenticated-api.ts'
import { beginPart } from './begin.ts'
import { readInput } from './input.ts'

/** A run from a place on, and how it is shown. */
export interface ShownRun extends StartedSegment {
  rendering: RunRendering
  /** The events before those of its log. */
  opening: AgUiEvent[]
  /** Begins what follows in the same run of AG-UI, or says why nothing can. */
  next?: { begin(): Promise<ShownRun>; refused(): AppError }
}

interface Stream {
  /** False when the client has gone. */
  put(events: AgUiEvent[]): Promise<boolean>
  follow(run: ShownRun): Promise<AsyncIterable<RunUpdate>>
}

/**
 * Sends what happens in each of the runs, in order, until it ends or waits for this client. No runs: an empty stream.
 * Action `events:Subscribe`; a refusal for the first run still has a status of its own.
 */
export async function sendRuns(ctx: Ctx, response: ServerResponse, runs: readonly ShownRun[]): Promise<null> {
  const gone = new AbortController()
  const follow: Stream['follow'] = ({ generation, segment }) =>
    followRun(ctx, generation, segment, gone.signal)
  const first = runs[0] && (await follow(runs[0]))
  const writer = openEventStream(response, () => gone.abort())
  const put: Stream['put'] = async (events) => {
    for (const event of events) if (!(await writer.send(event))) return false
    return true
  }
  for (const [i, run] of runs.entries()) {
    const stream = { put, follow }
    const sent = i === 0 ? sendRun(stream, run, first!) : sendLater(stream, async () => run)
    if (!(await sent)) break
  }
  if (response.destroyed) gone.abort()
  writer.end()
  return null
}

/** False when the client has gone. */
async function sendRun(
  stream: Stream,
  run: ShownRun,
  runUpdates: AsyncIterable<RunUpdate>,
): Promise<boolean> {
  const { rendering, opening, next } = run
  if (!(await stream.put(opening))) return false
  let last: RunUpdate | null = null
  for await (const one of runUpdates) {
    last = one
    const events = rendering.add(one)
    // The last event of the run would end that of AG-UI.
    if (!(await stream.put(next && one.type === 'end' ? events.slice(0, -1) : events))) return false
  }
  if (!last || !endsSegment(last)) return true
  if (next)
    return sendLater(stream, async () => {
      if (last.type !== 'end') throw next.refused()
      return next.begin()
    })
  return last.type === 'end' || stream.put(rendering.pause())
}

/** A run after the first one: the stream is open, so that a refusal is an event of it. */
async function sendLater(stream: Stream, begin: () => Promise<ShownRun>): Promise<boolean> {
  try {
    const run = await begin()
    return await sendRun(stream, run, await stream.follow(run))
  } catch (error) {
    const known = asAppError(error)
    if (!known) throw error
    return stream.put([{ type: 'RUN_ERROR', message: known.message, code: known.code }])
  }
}

const client: Omit<ClientTraits, 'isCurrent'> = { runsOpenCalls: false, isAskedLast: false }

export const agUiApi: AuthenticatedApi = {
  resource: '/ag-ui',
  routes: [{ method: 'POST', path: '/ag-ui/{agent}', run: serveRun }],
  errorBody,
}

/** The client of AG-UI puts the body into the message of its error. */
function errorBody({ code, message, details }: AppError): object {
  const at = details.issues?.[0]?.path.join('.')
  return { error: { code, message, ...(at ? { path: at } : {}) } }
}

async function serveRun({ request: { ctx, body }, response, params }: ApiCall): Promise<null> {
  const agent = await findAgentToStart(ctx, decodePathPart(params['agent']!, 'agent'))
  const given = readInput(await body())
  const { generation, segment } = await beginPart(ctx, agent, given)
  const { isCurrent, seen } = given
  const rendering = new RunRendering(given, seen, generation.id, { ...client, isCurrent })
  return sendRuns(ctx, response, [{ generation, segment, rendering, opening: rendering.begin() }])
}

/** Sends runs as a stream of events of AG-UI. A run does not depend on the stream. */
import type { ServerResponse } from 'node:http'
import type { Ctx } from '../../domain/access/index.ts'
import type { StartedLeg } from '../runs/answers.ts'
import { followRun } from '../runs/follow.ts'
import { endsLeg, type Happening } from '../runs/leg-log.ts'
import { openEventStream } from '../runs/sse.ts'
import type { AgUiEvent, RunRendering } from './events.ts'

/** A run from a place on, and how it is shown. */
export interface ShownRun extends StartedLeg {
  rendering: RunRendering
  /** The events before those of its log. */
  opening: AgUiEvent[]
}

/** False when the client has gone. */
type Put = (events: AgUiEvent[]) => Promise<boolean>

/**
 * Sends what happens in each of the runs, in order, until it ends or waits for this client. No runs: an empty stream.
 * Action `events:Subscribe`; a refusal for the first run still has a status of its own.
 */
export async function sendRuns(ctx: Ctx, response: ServerResponse, runs: readonly ShownRun[]): Promise<null> {
  const gone = new AbortController()
  const follow = ({ generation, leg }: ShownRun) => followRun(ctx, generation, leg, gone.signal)
  const first = runs[0] && (await follow(runs[0]))
  const writer = openEventStream(response, () => gone.abort())
  const put: Put = async (events) => {
    for (const event of events) if (!(await writer.send(event))) return false
    return true
  }
  for (const [i, run] of runs.entries())
    if (!(await sendRun(put, run, i === 0 ? first! : await follow(run)))) break
  if (response.destroyed) gone.abort()
  writer.end()
  return null
}

/** False when the client has gone. */
async function sendRun(
  put: Put,
  { rendering, opening }: ShownRun,
  happenings: AsyncIterable<Happening>,
): Promise<boolean> {
  if (!(await put(opening))) return false
  let last: Happening | null = null
  for await (const one of happenings) {
    last = one
    if (!(await put(rendering.add(one)))) return false
  }
  return !last || !endsLeg(last) || last.is === 'end' || put(rendering.pause())
}

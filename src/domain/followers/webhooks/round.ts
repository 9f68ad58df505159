/**
 * One round of an endpoint: sends deliveries that are due and the next events, eight at a time or, in order, one. Sends
 * in the order of the list and stops early, so that what was sent is always a beginning of the list.
 */
import type { RecordedEvent } from '../../events/index.ts'
import type { Message, Outcome } from './send.ts'
import type { Failed } from './state.ts'

/** Requests to one endpoint at the same time. */
const width = 8
/** After this time a round begins nothing more, so that its result is written while the lease is young. Milliseconds. */
const roundMs = 3000

/** An event to be sent. */
export interface Job {
  event: RecordedEvent
  /** Whether it is the next one of the log; else it is behind the place of the cursor, because it failed there. */
  isNext: boolean
  /** What is known of it when it has failed before. */
  failed: Failed | null
}

export interface Sent extends Job {
  outcome: Outcome
}

export interface RoundOptions {
  ordered: boolean
  send(message: Message): Promise<Outcome>
}

/** Deliveries and new events in turns, so that neither waits for the other. */
export function inTurns(due: readonly Job[], fresh: readonly Job[]): Job[] {
  const most = Math.max(due.length, fresh.length)
  return Array.from({ length: most }, (_, i) => [fresh[i], due[i]])
    .flat()
    .filter((job) => job !== undefined)
}

/**
 * Sends a beginning of the jobs and returns it with the outcomes. `isGone`: the endpoint answered 410, and what was sent
 * at that time or later counts as not sent.
 */
export async function sendRound(
  jobs: readonly Job[],
  messages: readonly Message[],
  { ordered, send }: RoundOptions,
): Promise<{ sent: Sent[]; isGone: boolean }> {
  const start = performance.now()
  const sent: Sent[] = []
  let next = 0
  let stopped = false
  const worker = async () => {
    while (next < jobs.length && !stopped) {
      const i = next++
      const outcome = await send(messages[i]!)
      sent[i] = { ...jobs[i]!, outcome }
      if (stops(outcome, jobs[i]!, ordered) || performance.now() - start > roundMs) stopped = true
    }
  }
  await Promise.all(Array.from({ length: ordered ? 1 : width }, worker))
  const end = sent.findIndex(({ outcome }) => outcome.kind === 'withheld' || outcome.kind === 'gone')
  const isGone = sent.some(({ outcome }) => outcome.kind === 'gone')
  return { sent: end < 0 ? sent : sent.slice(0, end), isGone }
}

/** Whether nothing more may be sent in this round. */
function stops({ kind, askedMs }: Outcome, { isNext }: Job, ordered: boolean): boolean {
  if (kind === 'withheld' || kind === 'gone' || askedMs !== null) return true
  return ordered && kind === 'failed' && isNext
}

/** The answers of connectors that requests of this process wait for. */
import { elapsedSince, momentNow, type Moment } from '../../../core/stopwatch.ts'
import { goneMs, readStates, type MessageState } from './messages.ts'
import { watchOf } from './watch.ts'

/** Time between polls without a hint, in milliseconds. */
const pollMs = 1000

/** What is known of messages by their ids; null: there is no such message any more. */
export const answerWatch = watchOf<MessageState>((services) => {
  let failed: Moment | null = null
  return {
    signal: 'connector-answered',
    everyMs: pollMs,
    async read(ids) {
      const asked = momentNow()
      const states = await readStates(services, ids).catch(() => null)
      // A database that does not answer does not hear from connectors either: for a while none of them is gone.
      if (!states || elapsedSince(asked) > pollMs) failed = momentNow()
      const isBack = failed === null || elapsedSince(failed) > goneMs
      return states && new Map(states.map((state) => [state.id, { ...state, lost: state.lost && isBack }]))
    },
  }
})

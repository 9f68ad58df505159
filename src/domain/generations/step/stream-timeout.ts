/**
 * Time limits of one attempt: a model that is silent or does not end in time is aborted, so that the step can be
 * retried.
 */
import { ModelError, type ModelEvent } from '../../models/index.ts'

/** All in milliseconds. */
export interface WatchdogLimits {
  /** Time until the first event. */
  firstChunkMs: number
  /** Time between two events, without the time that the reader needs for an event. */
  idleMs: number
  /** Time of the whole attempt, including the reader's. */
  totalMs: number
}

type LimitName = keyof WatchdogLimits

const complaints: Record<LimitName, string> = {
  firstChunkMs: 'did not begin to answer',
  idleMs: 'fell silent',
  totalMs: 'did not finish',
}

/**
 * The same events. When a limit passes, aborts `abort` (pass its signal to the model) and throws a retryable
 * MODEL_UNAVAILABLE that names the limit at once, whether or not the model reacts to the signal.
 */
export async function* watchStream(
  stream: AsyncIterable<ModelEvent>,
  limits: WatchdogLimits,
  abort: AbortController,
): AsyncGenerator<ModelEvent, void, undefined> {
  const events = stream[Symbol.asyncIterator]()
  const total = alarm('totalMs', limits)
  let pause = alarm('firstChunkMs', limits)
  let finished = false
  try {
    while (true) {
      const next = await Promise.race([events.next(), total.expired, pause.expired])
      pause.cancel()
      finished = next.done === true
      if (next.done) return
      yield next.value
      pause = alarm('idleMs', limits)
    }
  } catch (error) {
    if (error instanceof ModelError && error.cause === alarmMark) abort.abort(error)
    throw error
  } finally {
    total.cancel()
    pause.cancel()
    // Not awaited: a stream that is stuck in `next` would block in `return` as well.
    if (!finished) events.return?.()?.catch(() => {})
  }
}

const alarmMark = Symbol('alarm')

/** `expired` rejects when the limit has passed, unless cancelled before; it never resolves. */
function alarm(name: LimitName, limits: WatchdogLimits): { expired: Promise<never>; cancel: () => void } {
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const message = `The model ${complaints[name]} within ${limits[name] / 1000} s (${name}).`
      reject(new ModelError('MODEL_UNAVAILABLE', message, { retryable: true, cause: alarmMark }))
    }, limits[name])
  })
  // A limit that passes between two events is noticed at the next wait; until then the rejection has no handler.
  expired.catch(() => {})
  return { expired, cancel: () => clearTimeout(timer) }
}

/** A guard over one attempt: a model that falls silent or never ends is given up, so that the step can be tried again. */
import { ModelError, type ModelEvent } from '../model/port.ts'

/** All in milliseconds. */
export interface WatchdogLimits {
  /** Until the first event. */
  firstChunkMs: number
  /** Between one event and the next. The time the reader takes with an event does not count. */
  idleMs: number
  /** For the whole attempt, the reader's time included. */
  totalMs: number
}

type LimitName = keyof WatchdogLimits

const complaints: Record<LimitName, string> = {
  firstChunkMs: 'did not begin to answer',
  idleMs: 'fell silent',
  totalMs: 'did not finish',
}

/**
 * The same events. When a limit passes, `abort` is aborted (hand its signal to the model) and a retryable
 * MODEL_UNAVAILABLE that names the limit is thrown at once, whether or not the model obeys the signal.
 */
export async function* watched(
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
      const next = await Promise.race([events.next(), total.rung, pause.rung])
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
    // Never awaited: a stream that is stuck in `next` would hold its `return` back as well.
    if (!finished) events.return?.()?.catch(() => {})
  }
}

const alarmMark = Symbol('alarm')

/** `rung` never resolves; it rejects when the limit has passed, unless cancelled before. */
function alarm(name: LimitName, limits: WatchdogLimits): { rung: Promise<never>; cancel: () => void } {
  let timer: NodeJS.Timeout | undefined
  const rung = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const message = `The model ${complaints[name]} within ${limits[name] / 1000} s (${name}).`
      reject(new ModelError('MODEL_UNAVAILABLE', message, { retryable: true, cause: alarmMark }))
    }, limits[name])
  })
  // The alarm that nobody is listening to when it rings (between two events) is noticed at the next wait.
  rung.catch(() => {})
  return { rung, cancel: () => clearTimeout(timer) }
}

/**
 * The fetch for requests to upstreams: the guarded fetch with a size limit for each message. It also tracks, for one
 * call, whether it was sent, and whether the stream that should carry its response ended without one.
 */
import { onAbort } from '../../../core/time.ts'
import { createCarrier } from '../../../core/async-work.ts'
import { depthWatch, maxJsonDepth } from '../../../core/json.ts'
import { EgressError, type Egress } from '../../egress/index.ts'

/** What is known about the delivery of one call. */
export interface Delivery<Result = unknown> {
  /**
   * False only when the upstream certainly did not act on the call: nothing was sent, or every request was refused
   * (4xx).
   */
  mayHaveRun: boolean
  /** Called before anything of the call is sent; nothing is sent when it returns false. As in SendGuard. */
  mayStart?: ((delayMs?: number) => boolean) | undefined
  /** What comes of the call although it was reported as lost; null until there is such a thing, absent when nobody wants it. */
  late?: Promise<Result> | null
}

interface Tracker {
  delivery: Delivery
  /** Aborts requests of the call that are still open. */
  finished: AbortSignal
  requestStarted(): void
  /** Whoever carries the call is gone. Absent: that ends the request. */
  carrierGone?: ((reason: Error) => void) | undefined
  /** The stream that should carry the response ended. With `resumable` the transport may still fetch the rest. */
  streamEnded(resumable: boolean, reason: Error): void
}

const currentTracker = createCarrier<Tracker>()

/** Time for a response that was received before its stream ended to reach the caller, in milliseconds. */
const drainMs = 300
/** Time for a stream with event ids to resume before the call fails, in milliseconds. */
const resumeMs = 10_000
/**
 * Delay before open requests of a finished call are aborted, so that its cancellation notice is still sent.
 * Milliseconds.
 */
const abortDelayMs = 1000

/**
 * Runs one call and records its delivery in `delivery`. The signal given to `work` fires when the caller aborts, and
 * when the stream of the response is lost. Requests that are still open when the call ends are aborted. It throws when
 * whoever carries the call is gone; where `late` is wanted, that is what the same requests bring in the end.
 */
export async function trackDelivery<Result>(
  caller: AbortSignal | null,
  work: (signal: AbortSignal) => Promise<Result>,
  delivery: Delivery<Result> = { mayHaveRun: false },
): Promise<Result> {
  let giveUp = (_reason: Error) => {}
  const gone = new Promise<never>((_resolve, reject) => (giveUp = reject))
  const carrierGone = (reason: Error) => {
    delivery.late = whole
    giveUp(reason)
  }
  const whole = trackRequests(caller, work, delivery, delivery.late === null ? carrierGone : undefined)
  return Promise.race([whole, gone])
}

async function trackRequests<Result>(
  caller: AbortSignal | null,
  work: (signal: AbortSignal) => Promise<Result>,
  delivery: Delivery<Result>,
  carrierGone: Tracker['carrierGone'],
): Promise<Result> {
  const stop = new AbortController()
  const finished = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let lost: Error | null = null
  const tracker: Tracker = {
    delivery,
    finished: finished.signal,
    requestStarted: () => clearTimeout(timer),
    carrierGone,
    streamEnded(resumable, reason) {
      if (finished.signal.aborted) return
      clearTimeout(timer)
      timer = setTimeout(
        () => {
          lost = reason
          stop.abort(reason)
        },
        resumable ? resumeMs : drainMs,
      )
    },
  }
  const forget = onAbort(caller, () => stop.abort(new EgressError('ABORTED', 'The caller gave up.', true)))
  const tracked = currentTracker.run(tracker, async () => work(stop.signal))
  try {
    return await tracked.result
  } catch (error) {
    throw lost ?? (caller?.aborted ? stop.signal.reason : error)
  } finally {
    clearTimeout(timer)
    forget()
    const end = () => {
      finished.abort()
      tracked.done()
    }
    setTimeout(end, abortDelayMs).unref()
  }
}

/**
 * Runs work that outlives the call that starts it, such as opening a shared connection, without tracking it for that
 * call.
 */
export function runUntracked<Result>(work: () => Promise<Result>): Promise<Result> {
  return currentTracker.without(work)
}

/** Whether this runs for one call, and not for the connection. */
export function isTracked(): boolean {
  return currentTracker.get() !== null
}

/**
 * A message larger than `maxBytes`, or nested too deep, fails with TOO_LARGE while it is read; the length of a stream is not
 * limited.
 */
export function wireFetch(egress: Pick<Egress, 'fetch'>, maxBytes: number): typeof globalThis.fetch {
  return async (input, init) => {
    const tracker = currentTracker.get()
    const isPost = init?.method === 'POST'
    tracker?.requestStarted()
    const signals = [init?.signal, tracker?.finished].filter(
      (signal) => signal !== undefined && signal !== null,
    )
    const signal = signals.length > 1 ? AbortSignal.any(signals) : (signals[0] ?? null)
    const sending = tracker && isPost ? beginSending(tracker.delivery) : null
    let response: Response
    try {
      response = await egress.fetch(input, {
        ...init,
        signal,
        mayStart: sending?.mayStart,
        onCarrierGone: sending ? tracker?.carrierGone : undefined,
      })
    } catch (error) {
      // What waited to be sent may have been taken back.
      if (error instanceof EgressError && !error.sent) sending?.refused()
      if (!isPost) tracker?.streamEnded(true, error as Error)
      throw error
    }
    // A refused (4xx) request, or one that is to be sent elsewhere (307, 308), was not acted on; a 408 may come from a proxy
    // that stopped waiting, and before other redirects some servers have acted.
    const { status } = response
    if (status === 307 || status === 308 || (status >= 400 && status < 500 && status !== 408))
      sending?.refused()
    return bounded(response, maxBytes, tracker)
  }
}

/**
 * A call may have run from the moment in which the first byte of a request may leave: the caller may stop waiting before
 * anything comes back.
 */
function beginSending(delivery: Delivery): { mayStart(delayMs?: number): boolean; refused(): void } {
  const before = delivery.mayHaveRun
  return {
    mayStart(delayMs) {
      if (!delivery.mayHaveRun && delivery.mayStart?.(delayMs) === false) return false
      return (delivery.mayHaveRun = true)
    },
    refused: () => void (delivery.mayHaveRun = before),
  }
}

function bounded(response: Response, maxBytes: number, tracker: Tracker | null): Response {
  if (!response.body) return response
  const isStream = (response.headers.get('content-type') ?? '').startsWith('text/event-stream')
  let size = 0
  let resumable = false
  const isTooDeep = depthWatch(isStream)
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      if (isStream) resumable ||= bytes.includes('\nid:') || bytes.subarray(0, 3).equals(idField)
      // An empty line ends an event: what follows is the next message.
      const end = isStream ? Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\r\n\r\n')) : -1
      size = end < 0 ? size + bytes.length : bytes.length - end
      if (size > maxBytes) controller.error(tooLarge(`is larger than ${maxBytes} bytes`))
      else if (isTooDeep(bytes)) controller.error(tooLarge(`is nested deeper than ${maxJsonDepth} levels`))
      else controller.enqueue(chunk)
    },
  })
  const ended = (error?: unknown) => {
    if (!tracker || !isStream) return
    const large = error instanceof EgressError && error.code === 'TOO_LARGE'
    const reason = large ? error : new EgressError('NETWORK', 'The stream of the answer ended early.', true)
    tracker.streamEnded(resumable && !large, reason)
  }
  response.body.pipeTo(counted.writable).then(() => ended(), ended)
  return remakeResponse(response, counted.readable)
}

/** The response with another body, and with the status and further headers of `change`. */
export function remakeResponse(
  response: Response,
  body: BodyInit,
  change: { status?: number; headers?: Record<string, string> } = {},
): Response {
  const headers = new Headers(response.headers)
  for (const [name, value] of Object.entries(change.headers ?? {})) headers.set(name, value)
  const status = change.status ?? response.status
  const statusText = status === response.status ? response.statusText : ''
  return Object.defineProperties(new Response(body, { status, statusText, headers }), {
    url: { value: response.url },
    redirected: { value: response.redirected },
  })
}

const idField = Buffer.from('id:')

function tooLarge(why: string): EgressError {
  return new EgressError('TOO_LARGE', `A message of the server ${why}.`, true)
}

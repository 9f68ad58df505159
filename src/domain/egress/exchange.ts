/** One request and its response over a socket, which records whether a byte of the request was sent. */
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { onAbort } from '../../core/time.ts'
import { EgressError } from './egress-error.ts'
import type { Hop } from './request-rules.ts'

/** A condition under which a request may be sent, such as a valid lease. */
export interface SendGuard {
  /**
   * Called right before the first byte is sent. When it returns false, nothing is sent and the error is WITHHELD.
   * `delayMs`: whether it may be sent up to so many milliseconds from now; default: 0.
   */
  mayStart?: ((delayMs?: number) => boolean) | undefined
  /** Called when whoever has the request is gone, and the fetch goes on waiting for its answer. Absent: the fetch fails then. */
  onCarrierGone?: ((reason: Error) => void) | undefined
}

/** `sent` is set right before the first byte is sent and never reset. One trace covers all redirects of a request. */
export interface Trace extends SendGuard {
  sent: boolean
}

/** A response whose body has not been read. The caller must read the body to its end or destroy it. */
export interface Reply {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Readable
}

interface SendOptions {
  signal: AbortSignal | null
  trace: Trace
}

/** Sends one request, without redirects. See `exchange`. */
export type Send = (hop: Hop, options: SendOptions) => Promise<Reply>

interface ExchangeOptions extends SendOptions {
  /** Called once at the end: true when the response was received completely. */
  onEnd?: (isComplete: boolean) => void
}

/**
 * Sends one request, without redirects. Rejects with the signal's reason as soon as it aborts, also while the name is
 * resolved. A request that was aborted before it had a socket is never sent.
 */
export function exchange(dispatcher: Dispatcher, hop: Hop, options: ExchangeOptions): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const handler = new ReplyHandler(options, resolve, reject)
    if (options.signal?.aborted) return handler.end(false)
    dispatcher.dispatch(
      {
        origin: hop.url.origin,
        path: hop.url.pathname + hop.url.search,
        method: hop.method,
        headers: hop.headers,
        body: hop.body,
      },
      handler,
    )
  })
}

/** Turns undici's callbacks into a promise of the response head and a stream of the body. */
class ReplyHandler implements Dispatcher.DispatchHandler {
  #options: ExchangeOptions
  #resolve: (reply: Reply) => void
  #reject: (error: unknown) => void
  #controller: Dispatcher.DispatchController | null = null
  #body: Readable | null = null
  #failure: { reason: unknown } | null = null
  #ended = false
  #removeListener = () => {}

  constructor(options: ExchangeOptions, resolve: (reply: Reply) => void, reject: (error: unknown) => void) {
    this.#options = options
    this.#resolve = resolve
    this.#reject = reject
    this.#removeListener = onAbort(options.signal, this.#abort)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#failure) return controller.abort(new Error('aborted before it was sent'))
    const { trace } = this.#options
    if (!trace.sent && trace.mayStart?.() === false) {
      const withheld = new EgressError('WITHHELD', 'The request was withheld; nothing was sent.', false)
      this.#fail(withheld)
      return controller.abort(withheld)
    }
    trace.sent = true
    this.#controller = controller
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Reply['headers'],
  ): void {
    if (status < 200) return
    this.#body = new Readable({
      read: () => controller.resume(),
      destroy: (error, done) => {
        controller.abort(error ?? new Error('the rest of the body was not read'))
        this.end(false)
        done(error)
      },
    })
    this.#resolve({ status, headers, body: this.#body })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#body?.push(chunk) === false) controller.pause()
  }

  onResponseEnd(): void {
    this.end(true)
    this.#body?.push(null)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error)
  }

  #abort = (): void => {
    const reason: unknown = this.#options.signal?.reason
    this.#fail(reason)
    this.#controller?.abort(reason instanceof Error ? reason : new EgressError('ABORTED', 'Aborted.', true))
  }

  #fail(reason: unknown): void {
    if (this.#failure) return
    this.#failure = { reason }
    this.#reject(reason)
    this.end(false)
    // Without a listener the error of an unread body would end the process.
    this.#body?.on('error', () => {}).destroy(reason instanceof Error ? reason : new Error('aborted'))
  }

  end(isComplete: boolean): void {
    this.#removeListener()
    const { onEnd } = this.#options
    if (this.#ended) return
    this.#ended = true
    onEnd?.(isComplete)
  }
}

/** One request and one answer over a socket, with the exact moment known from which the request counts as sent. */
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { onAbort } from '../../core/abort.ts'
import { EgressError } from './egress-error.ts'
import type { Hop } from './redirects.ts'

/** For a request that may be sent only while something holds. */
export interface SendGuard {
  /** Asked when the first byte is about to leave. With false nothing leaves, and the error is WITHHELD. */
  mayStart?: (() => boolean) | undefined
}

/** Written when the first byte is about to leave, and never unwritten: one trace spans all redirects of a request. */
export interface Trace extends SendGuard {
  sent: boolean
}

/** An answer whose body is still on the wire. Whoever gets it reads the body to its end or destroys it. */
export interface Reply {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Readable
}

export interface ExchangeOptions {
  signal: AbortSignal | null
  trace: Trace
  /** Close the connection afterwards. */
  single: boolean
}

/**
 * Sends one hop. Rejects with the signal's reason as soon as it aborts, also while a name is being resolved; a request
 * that was abandoned before it had a socket is never written to one.
 */
export function exchange(dispatcher: Dispatcher, hop: Hop, options: ExchangeOptions): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const handler = new ReplyHandler(options, resolve, reject)
    if (options.signal?.aborted) return
    dispatcher.dispatch(
      {
        origin: hop.url.origin,
        path: hop.url.pathname + hop.url.search,
        method: hop.method,
        headers: hop.headers,
        body: hop.body,
        reset: options.single,
      },
      handler,
    )
  })
}

/** Turns undici's callbacks into a promise of the head and a stream of the body. */
class ReplyHandler implements Dispatcher.DispatchHandler {
  #options: ExchangeOptions
  #resolve: (reply: Reply) => void
  #reject: (error: unknown) => void
  #controller: Dispatcher.DispatchController | null = null
  #body: Readable | null = null
  #failure: { reason: unknown } | null = null
  #forget = () => {}

  constructor(options: ExchangeOptions, resolve: (reply: Reply) => void, reject: (error: unknown) => void) {
    this.#options = options
    this.#resolve = resolve
    this.#reject = reject
    this.#forget = onAbort(options.signal, this.#abort)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#failure) return controller.abort(new Error('abandoned before it was sent'))
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
        this.#settle()
        controller.abort(error ?? new Error('the rest was not wanted'))
        done(error)
      },
    })
    this.#resolve({ status, headers, body: this.#body })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#body?.push(chunk) === false) controller.pause()
  }

  onResponseEnd(): void {
    this.#settle()
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
    this.#settle()
    if (this.#failure) return
    this.#failure = { reason }
    this.#reject(reason)
    // A body that nobody reads any more must not bring the process down by its own error.
    this.#body?.on('error', () => {}).destroy(reason instanceof Error ? reason : new Error('aborted'))
  }

  #settle(): void {
    this.#forget()
  }
}

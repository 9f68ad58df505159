/**
 * Subscriptions over sockets: each subscriber has its own stream and cursor, and sends results that others share. Ids
 * may be used again.
 */
import type { ExecutionResult, OperationDefinitionNode } from 'graphql'
import type { WebSocket } from 'ws'
import { writeJson } from '../../../core/json.ts'
import type { Log } from '../../../core/log.ts'
import { maskError } from '../builder/errors.ts'
import type { Operation } from './operation-guard.ts'
import { isSource, openSource, runOperation, type OperationParts } from './operations.ts'
import { resultTexts, type ResultTexts } from './fast-results.ts'

/** One use of an id. */
export interface IdUse {
  /** False when the client has used the id again. */
  isCurrent(): boolean
  /** The operation is over. */
  end(): void
}

/** The uses of ids on one socket; as many are kept as operations run. */
export interface SocketIds {
  begin(id: string): IdUse
}

export function createSocketIds(): SocketIds {
  const current = new Map<string, IdUse>()
  return {
    begin(id) {
      const use: IdUse = {
        isCurrent: () => current.get(id) === use,
        end() {
          if (current.get(id) === use) current.delete(id)
        },
      }
      current.set(id, use)
      return use
    },
  }
}

/** What graphql-ws gets for an operation that is over for the client: it never touches the id again, and is forgotten. */
export function neverSettles(): Promise<never> {
  return new Promise(() => {})
}

/** An operation of a socket. */
export interface SocketOperation extends Operation {
  operation: OperationDefinitionNode
  /** The id of the operation on its socket. */
  id: string
  use: IdUse
  socket: WebSocket
}

/** So many unread bytes of a socket, and its streams wait until they are written. */
const mostUnread = 64 * 1024

/** The result of a query or mutation; never resolves when the client has used its id again. */
export async function runOnSocket(parts: OperationParts, given: SocketOperation): Promise<ExecutionResult> {
  const result = await runOperation(parts, given)
  if (!given.use.isCurrent()) return neverSettles()
  given.use.end()
  return result
}

/**
 * Opens a subscription. Returns the result with its errors when it is refused, else a stream for graphql-ws that yields
 * nothing: it sends the results itself, until `return` is called or the events end. Never rejects, and never resolves when
 * the client has used its id again.
 */
export async function openSocketStream(
  parts: OperationParts,
  given: SocketOperation,
): Promise<ExecutionResult | AsyncGenerator<never, void, void>> {
  const opened = await open(parts, given)
  if (!given.use.isCurrent()) {
    if (opened instanceof SocketStream) await opened.return()
    return neverSettles()
  }
  if (!(opened instanceof SocketStream)) given.use.end()
  return opened
}

async function open(parts: OperationParts, given: SocketOperation): Promise<ExecutionResult | SocketStream> {
  const opened = await openSource(parts, given)
  return isSource(opened) ? new SocketStream(given, opened, parts.log) : opened
}

/** Not an `async function*`: its `return()` must end a pending `next()` at once. */
class SocketStream implements AsyncGenerator<never, void, void> {
  readonly #socket: WebSocket
  readonly #source: AsyncIterator<object>
  readonly #log: Log
  readonly #use: IdUse
  readonly #texts: ResultTexts
  /** What comes before the result in each message. */
  readonly #head: string
  #ended = false

  constructor(opened: SocketOperation, source: AsyncIterator<object>, log: Log) {
    this.#socket = opened.socket
    this.#source = source
    this.#log = log
    this.#use = opened.use
    this.#texts = resultTexts(opened, log)
    this.#head = `{"id":${writeJson(opened.id)},"type":"next","payload":`
  }

  /**
   * Sends until the events end. Throws the masked error with which they fail. Never settles after `return`: graphql-ws has
   * forgotten the id by then, and the client may have used it again.
   */
  async next(): Promise<IteratorResult<never, void>> {
    try {
      while (!this.#ended) {
        const item = await this.#source.next()
        if (item.done) break
        const text = this.#texts.textOf(item.value)
        const sent = this.#send(typeof text === 'string' ? text : await text)
        if (sent) await sent
      }
    } catch (error) {
      if (!this.#ended) throw this.#over(maskError(error, this.#log))
    }
    return this.#ended ? neverSettles() : this.#over({ done: true, value: undefined })
  }

  #over<T>(how: T): T {
    this.#use.end()
    return how
  }

  async return(): Promise<IteratorResult<never, void>> {
    this.#ended = true
    this.#use.end()
    await this.#source.return?.()
    return { done: true, value: undefined }
  }

  async throw(error: unknown): Promise<never> {
    await this.return()
    throw error
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  /** Waits while the client does not read. Sends nothing to a client that has unsubscribed, or is gone. */
  #send(text: string): Promise<void> | undefined {
    const socket = this.#socket
    if (this.#ended || socket.readyState !== socket.OPEN) return undefined
    const message = `${this.#head}${text}}`
    if (socket.bufferedAmount < mostUnread) {
      socket.send(message)
      return undefined
    }
    // An error means that the socket closes, which ends the stream.
    return new Promise((resolve) => socket.send(message, () => resolve()))
  }
}

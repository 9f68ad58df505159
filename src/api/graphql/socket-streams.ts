/** Subscriptions over sockets: each subscriber has its own stream and cursor, and sends results that others share. */
import { createSourceEventStream, type ExecutionResult, type OperationDefinitionNode } from 'graphql'
import type { WebSocket } from 'ws'
import type { Log } from '../../core/log.ts'
import { maskError } from './errors.ts'
import type { Operation } from './operation-guard.ts'
import { masked, type OperationParts } from './operations.ts'
import { resultTexts, type ResultTexts } from './shared-results.ts'

/** A subscription of a socket. */
export interface SocketOperation extends Operation {
  operation: OperationDefinitionNode
  /** The id of the operation on its socket. */
  id: string
  socket: WebSocket
}

/** So many unread bytes of a socket, and its streams wait until they are written. */
const mostUnread = 64 * 1024

/**
 * Opens a subscription. Returns the result with its errors when it is refused, else a stream for graphql-ws that yields
 * nothing: it sends the results itself, until `return` is called or the events end. Never rejects.
 */
export async function openSocketStream(
  { guard, log }: OperationParts,
  opened: SocketOperation,
): Promise<ExecutionResult | AsyncGenerator<never, void, void>> {
  try {
    const errors = await guard(opened)
    if (errors) return { errors }
    const { schema, document, contextValue, variableValues, operationName } = opened
    const source = await createSourceEventStream({
      schema,
      document,
      contextValue,
      variableValues,
      operationName,
    })
    if (!(Symbol.asyncIterator in source)) return masked(source, log)
    return new SocketStream(opened, source[Symbol.asyncIterator]() as AsyncIterator<object>, log)
  } catch (error) {
    return { errors: [maskError(error, log)] }
  }
}

/** Not an `async function*`: its `return()` must end a pending `next()` at once. */
class SocketStream implements AsyncGenerator<never, void, void> {
  readonly #socket: WebSocket
  readonly #source: AsyncIterator<object>
  readonly #log: Log
  readonly #texts: ResultTexts
  /** What comes before the result in each message. */
  readonly #head: string
  #ended = false

  constructor(opened: SocketOperation, source: AsyncIterator<object>, log: Log) {
    this.#socket = opened.socket
    this.#source = source
    this.#log = log
    this.#texts = resultTexts(opened, log)
    this.#head = `{"id":${JSON.stringify(opened.id)},"type":"next","payload":`
  }

  /** Sends until the end. Throws the masked error with which the stream of events fails. */
  async next(): Promise<IteratorResult<never, void>> {
    try {
      while (!this.#ended) {
        const item = await this.#source.next()
        if (item.done) break
        const text = this.#texts.textOf(item.value)
        await this.#send(typeof text === 'string' ? text : await text)
      }
    } catch (error) {
      throw maskError(error, this.#log)
    }
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<never, void>> {
    this.#ended = true
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

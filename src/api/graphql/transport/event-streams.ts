/** Subscriptions over server-sent events: each has its own stream and cursor, and sends results that others share. */
import { getOperationAST, type ExecutionResult } from 'graphql'
import type { Operation } from './operation-guard.ts'
import { isSource, openSource, type OperationParts } from './operations.ts'
import { resultTexts, type ResultTexts } from './fast-results.ts'

/** The stream of results; the result with its errors when the subscription is refused. Never rejects. */
export async function openEventStream(
  parts: OperationParts,
  given: Operation,
): Promise<ExecutionResult | AsyncIterableIterator<ExecutionResult>> {
  const opened = await openSource(parts, given)
  if (!isSource(opened)) return opened
  const operation = getOperationAST(given.document, given.operationName)!
  return resultsOf(opened, resultTexts({ ...given, operation }, parts.log))
}

/**
 * Not an `async function*`: its `return()` must end a pending `next()` at once. Yoga makes a result of an error and asks for the
 * next one: the stream has ended by then, whatever its source would give behind the gap.
 */
function resultsOf(
  source: AsyncIterator<object>,
  texts: ResultTexts,
): AsyncIterableIterator<ExecutionResult> {
  let isOver = false
  const end = async () => {
    if (!isOver) {
      isOver = true
      await source.return?.()
    }
    return { done: true, value: undefined } as const
  }
  return {
    async next() {
      if (isOver) return { done: true, value: undefined }
      try {
        const item = await source.next()
        if (item.done) return { done: true, value: undefined }
        const text = texts.textOf(item.value)
        return { done: false, value: written(typeof text === 'string' ? text : await text) }
      } catch (error) {
        await end()
        throw error
      }
    },
    return: end,
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** A result whose JSON is known. Yoga calls `stringify` of a result in place of `JSON.stringify`. */
function written(text: string): ExecutionResult {
  return { stringify: () => text } as ExecutionResult
}

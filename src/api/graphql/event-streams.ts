/** Subscriptions over server-sent events: each has its own stream and cursor, and sends results that others share. */
import { createSourceEventStream, getOperationAST, type ExecutionArgs, type ExecutionResult } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { Log } from '../../core/log.ts'
import type { GraphQLContext } from './context.ts'
import { resultTexts, type ResultTexts } from './shared-results.ts'

/** Yoga plugin: subscriptions send the texts of shared-results.ts, as those over sockets do. */
export function sharedStreams(log: Log): Plugin<GraphQLContext> {
  return {
    onSubscribe: ({ setSubscribeFn }) =>
      setSubscribeFn(((args: ExecutionArgs) => openStream(args, log)) as never),
  }
}

/** The stream of results; the result with its errors when the subscription is refused. */
async function openStream(
  args: ExecutionArgs,
  log: Log,
): Promise<ExecutionResult | AsyncIterableIterator<ExecutionResult>> {
  const source = await createSourceEventStream(args)
  if (!(Symbol.asyncIterator in source)) return source
  const operation = getOperationAST(args.document, args.operationName)!
  const { schema, document, variableValues } = args
  const contextValue = args.contextValue as GraphQLContext
  const texts = resultTexts({ schema, document, operation, variableValues, contextValue }, log)
  return resultsOf(source[Symbol.asyncIterator]() as AsyncIterator<object>, texts)
}

/** Not an `async function*`: its `return()` must end a pending `next()` at once. */
function resultsOf(
  source: AsyncIterator<object>,
  texts: ResultTexts,
): AsyncIterableIterator<ExecutionResult> {
  return {
    async next() {
      const item = await source.next()
      if (item.done) return { done: true, value: undefined }
      const text = texts.textOf(item.value)
      return { done: false, value: written(typeof text === 'string' ? text : await text) }
    },
    async return() {
      await source.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** A result whose JSON is known. Yoga calls `stringify` of a result in place of `JSON.stringify`. */
function written(text: string): ExecutionResult {
  return { stringify: () => text } as ExecutionResult
}

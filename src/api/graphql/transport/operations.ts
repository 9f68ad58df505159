/** Runs operations, on every transport: guarded, bounded, masked and with their cost. */
import { createSourceEventStream, execute, type ExecutionArgs, type ExecutionResult } from 'graphql'
import type { Log } from '../../../core/log.ts'
import { maskError } from '../builder/errors.ts'
import { withCost } from './operation-cost.ts'
import type { Operation, OperationGuard } from './operation-guard.ts'
import { bounded, readFeedCursor } from './execution.ts'

/** The parts that every operation passes. */
export interface OperationParts {
  guard: OperationGuard
  log: Log
}

/** The result of a query or mutation, as a client may see it. Never rejects. */
export async function runOperation(
  { guard, log }: OperationParts,
  operation: Operation,
): Promise<ExecutionResult> {
  const { document, contextValue } = operation
  try {
    // Awaits only what is a promise: each await delays the response behind other work.
    const refused = guard(operation)
    const errors = refused instanceof Promise ? await refused : refused
    if (errors) return { errors }
    const cursor = readFeedCursor(document, contextValue)
    if (cursor) await cursor
    const executed = execute(operation as ExecutionArgs)
    const result = executed instanceof Promise ? await executed : executed
    return masked(withCost(contextValue, bounded(contextValue, result, log)), log)
  } catch (error) {
    return { errors: [maskError(error, log)] }
  }
}

/** The source of a subscription, or the result with its errors when it is refused. Never rejects. */
export async function openSource(
  { guard, log }: OperationParts,
  operation: Operation,
): Promise<ExecutionResult | AsyncIterator<object>> {
  try {
    const errors = await guard(operation)
    if (errors) return { errors }
    const { schema, document, contextValue, variableValues, operationName } = operation
    const given = { schema, document, contextValue, variableValues, operationName }
    const source = await createSourceEventStream(given)
    if (!(Symbol.asyncIterator in source)) return masked(source, log)
    return source[Symbol.asyncIterator]() as AsyncIterator<object>
  } catch (error) {
    return { errors: [maskError(error, log)] }
  }
}

/** Whether `openSource` has opened one. */
export function isSource(opened: ExecutionResult | AsyncIterator<object>): opened is AsyncIterator<object> {
  return 'next' in opened
}

/** The result with errors that a client may see. */
export function masked(result: ExecutionResult, log: Log): ExecutionResult {
  return result.errors ? { ...result, errors: result.errors.map((error) => maskError(error, log)) } : result
}

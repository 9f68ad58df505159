/** Runs queries and mutations without Yoga, over HTTP and sockets: guarded, bounded, masked and with their cost. */
import { execute, type ExecutionArgs, type ExecutionResult } from 'graphql'
import type { Log } from '../../core/log.ts'
import { maskError } from './errors.ts'
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

/** The result with errors that a client may see. */
export function masked(result: ExecutionResult, log: Log): ExecutionResult {
  return result.errors ? { ...result, errors: result.errors.map((error) => maskError(error, log)) } : result
}

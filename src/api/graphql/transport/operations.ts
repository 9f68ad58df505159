/** Runs operations, on every transport: guarded, bounded, masked and with their cost. */
import {
  type DocumentNode,
  type ExecutionResult,
  createSourceEventStream,
  execute,
  type ExecutionArgs,
} from 'graphql'
import type { Log } from '../../../core/log.ts'
import { newestPosition } from '../../../domain/events/index.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { maskError } from '../builder/errors.ts'
import { withCost, type Operation, type OperationGuard } from './operation-guard.ts'

/**
 * Reads the position of feedCursor for an operation that asks for it; null for any other. A later position would lose the
 * events between what the operation read and the cursor. Never rejects.
 */
function readFeedCursor({ loc }: DocumentNode, context: GraphQLContext): Promise<void> | null {
  if (!loc?.source.body.includes('feedCursor')) return null
  const read = async () => {
    context.newestPosition = await newestPosition(context.ctx)
  }
  // No valid credentials, or no database: the resolvers report it.
  return read().catch(() => {})
}

/** The result, or the error that replaces it when the response exceeds its budget. */
export function boundResult({ answer }: GraphQLContext, result: ExecutionResult, log: Log): ExecutionResult {
  const fault = answer.exceeded()
  return fault ? { errors: [maskError(fault, log)] } : result
}

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
    return maskErrors(withCost(contextValue, boundResult(contextValue, result, log)), log)
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
    if (!(Symbol.asyncIterator in source)) return maskErrors(source, log)
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
export function maskErrors(result: ExecutionResult, log: Log): ExecutionResult {
  return result.errors ? { ...result, errors: result.errors.map((error) => maskError(error, log)) } : result
}

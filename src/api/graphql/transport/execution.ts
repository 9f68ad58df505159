/** What every transport does around an execution: the position of feedCursor before it, the budget of the response after it. */
import type { DocumentNode, ExecutionResult } from 'graphql'
import type { Log } from '../../../core/log.ts'
import { newestPosition } from '../../../domain/events/index.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { maskError } from '../builder/errors.ts'

/**
 * Reads the position of feedCursor for an operation that asks for it; null for any other. A later position would lose the
 * events between what the operation read and the cursor. Never rejects.
 */
export function readFeedCursor({ loc }: DocumentNode, context: GraphQLContext): Promise<void> | null {
  if (!loc?.source.body.includes('feedCursor')) return null
  const read = async () => {
    context.newestPosition = await newestPosition(context.ctx)
  }
  // No valid credentials, or no database: the resolvers report it.
  return read().catch(() => {})
}

/** The result, or the error that replaces it when the response exceeds its budget. */
export function bounded({ answer }: GraphQLContext, result: ExecutionResult, log: Log): ExecutionResult {
  const fault = answer.exceeded()
  return fault ? { errors: [maskError(fault, log)] } : result
}

/**
 * The cost of operations in points: taken before an operation runs, partly returned after it, and reported in the
 * response.
 */
import type { ExecutionResult } from 'graphql'
import { rateHeaders } from '../../../core/rate-headers.ts'
import { AppError } from '../../../core/errors.ts'
import type { GraphQLContext } from '../builder/context.ts'

/** Fields per point. */
const fieldsPerPoint = 10

/** The cost of an operation with this number of fields, in points; at least 1. */
export function pointsOf(fields: number): number {
  return Math.max(1, Math.ceil(fields / fieldsPerPoint))
}

/**
 * Takes the points of an operation from the quota of its caller. Returns null when it may run, else LIMITED with
 * `retryAfterMs`. Anonymous operations cost nothing.
 */
export function spend(context: GraphQLContext, points: number): AppError | null | Promise<AppError | null> {
  if (context.anonymous) return null
  const caller = context.ctx
  const spent = (waitMs: number) => {
    context.cost = { requested: points, taken: waitMs === 0, caller }
    if (waitMs === 0) return null
    return new AppError('LIMITED', `This operation costs ${points} points, and this key has fewer left.`, {
      retryAfterMs: Math.ceil(waitMs),
    })
  }
  // The limiter usually decides in memory: a promise only when it must ask the shared store.
  const taken = caller.rates.takeCost(caller.principal, points)
  return typeof taken === 'number' ? spent(taken) : taken.then(spent)
}

/** The result with `extensions.cost`. Returns points that were not used to the quota of the caller. */
export function withCost(context: GraphQLContext, result: ExecutionResult): ExecutionResult {
  const { cost } = context
  if (!cost) return result
  const { rates, principal } = cost.caller
  const actual = cost.taken ? Math.min(cost.requested, pointsOf(countFields(result.data))) : 0
  if (actual < cost.requested && cost.taken) rates.giveBackCost(principal, cost.requested - actual)
  const { rule, left } = rates.quotas(principal).cost
  const report = {
    requestedQueryCost: cost.requested,
    actualQueryCost: actual,
    throttleStatus: {
      maximumAvailable: rule.capacity,
      currentlyAvailable: Math.floor(left),
      restoreRate: Math.max(1, Math.floor(rule.perMs * 1000)),
    },
  }
  return { ...result, extensions: { ...result.extensions, cost: report } }
}

/** The number of object members in a response, at all levels. Iterative, so that depth cannot overflow the stack. */
function countFields(data: unknown): number {
  const open: unknown[] = [data]
  let fields = 0
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next !== 'object' || next === null) continue
    const inner = Array.isArray(next) ? next : Object.values(next)
    if (!Array.isArray(next)) fields += inner.length
    for (const one of inner) if (typeof one === 'object' && one !== null) open.push(one)
  }
  return fields
}

/** The rate limit headers of a caller, with the remaining requests; none for an anonymous one. */
export function quotaHeadersOf(context: GraphQLContext): Record<string, string> {
  const quota = context.quotas()
  return quota ? rateHeaders(quota.name, quota.rule, quota.left) : {}
}

/**
 * Checks an operation just before it runs, on every transport: its variables, its use of introspection and its cost,
 * which is taken in points.
 */
import {
  type ExecutionResult,
  getOperationAST,
  Kind,
  visit,
  type DocumentNode,
  type GraphQLError,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql'
import { rateHeaders } from '../../../core/buckets.ts'
import { AppError, invalid, invalidAt } from '../../../core/errors.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { complexityFromQuery } from '@pothos/plugin-complexity'
import type { Log } from '../../../core/log.ts'
import { unauthenticatedError } from '../../../domain/access/index.ts'
import { operationLimits } from '../builder/builder.ts'
import { maskError } from '../builder/errors.ts'
import { introspectionLimits, introspectionOf, type Introspection } from './introspection.ts'
import { variableFaults } from './variables.ts'

/** Fields per point. */
const fieldsPerPoint = 10

/** The cost of an operation with this number of fields, in points; at least 1. */
function pointsOf(fields: number): number {
  return Math.max(1, Math.ceil(fields / fieldsPerPoint))
}

/**
 * Takes the points of an operation from the quota of its caller. Returns null when it may run, else LIMITED with
 * `retryAfterMs`. Anonymous operations cost nothing.
 */
function spend(context: GraphQLContext, points: number): AppError | null | Promise<AppError | null> {
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

/** An operation that is about to run. */
export interface Operation {
  schema: GraphQLSchema
  document: DocumentNode
  operationName?: string | null | undefined
  variableValues?: Record<string, unknown> | null | undefined
  contextValue: GraphQLContext
}

/** Checks an operation: the errors of the refusal, or null when it may run. Then its cost has been taken. */
export type OperationGuard = (
  operation: Operation,
) => readonly GraphQLError[] | null | Promise<readonly GraphQLError[] | null>

/**
 * Refuses an operation as a whole for invalid variables (their values are never repeated) or excessive cost. Asks no
 * shared store, and so returns no promise, while the caller's share of the quota lasts.
 */
export function operationGuard(log: Log, production: boolean): OperationGuard {
  const refused = (fault: AppError | null) => fault && [refusal(fault, log)]
  return (operation) => {
    const judged = judge(operation, production)
    if (judged instanceof AppError) return refused(judged)
    const spent = spend(operation.contextValue, judged)
    return spent instanceof Promise ? spent.then(refused) : refused(spent)
  }
}

function refusal(fault: AppError, log: Log): GraphQLError {
  const error = maskError(fault, log)
  if (fault.code !== 'INVALID') return error
  // `spec` leaves the status at 200 for clients that ask for application/json, as GraphQL over HTTP wants it.
  error.extensions['http'] = { spec: true, status: 400 }
  return error
}

/** What a check of an operation finds whoever sends it, with whatever variables. */
interface Fixed {
  asked: Introspection | null
  fault: AppError | null
  /** The cost in fields, or why it is too high; null when it depends on variables. */
  cost: AppError | number | null
}

/** By operation: documents are cached, so the same text has the same nodes. */
const known = new WeakMap<OperationDefinitionNode, Fixed>()

function fixedOf(args: Operation, operation: OperationDefinitionNode): Fixed {
  const before = known.get(operation)
  if (before) return before
  const asked = introspectionOf(args.schema, args.document, operation)
  const fault = (asked && introspectionFault(asked)) ?? nameFault(args.document)
  const isFixed = !fault && !operation.variableDefinitions?.length
  const fixed = { asked, fault, cost: isFixed ? costOf(args, operation) : null }
  known.set(operation, fixed)
  return fixed
}

/** Why the operation is refused, or its cost in points. */
function judge(args: Operation, production: boolean): AppError | number {
  const operation = getOperationAST(args.document, args.operationName)
  if (!operation) return pointsOf(0)
  const { asked, fault, cost: fixedCost } = fixedOf(args, operation)
  if (asked && production && args.contextValue.anonymous) return unauthenticatedError()
  if (fault) return fault
  const issues = variableFaults(args.schema, operation, args.variableValues)
  if (issues.length > 0) return invalid(issues)
  const cost = fixedCost ?? costOf(args, operation)
  return cost instanceof AppError ? cost : pointsOf(cost + (asked?.fields ?? 0))
}

function introspectionFault({ schemas, types, fields }: Introspection): AppError | null {
  const most = introspectionLimits
  if (schemas > most.schemas)
    return invalidAt(['document'], `has __schema ${schemas} times; at most ${most.schemas} is allowed`)
  if (types > most.types)
    return invalidAt(['document'], `has __type ${types} times; at most ${most.types} are allowed`)
  if (fields > most.fields)
    return invalidAt(
      ['document'],
      `asks the schema for about ${Math.round(fields)} fields; at most ${most.fields} are allowed`,
    )
  return null
}

/** Maximum characters of an alias: the response repeats it as often as its field. */
const maxAlias = 128
const longName = new RegExp(`[_A-Za-z]\\w{${maxAlias}}`)

function nameFault(document: DocumentNode): AppError | null {
  // Most documents have no such word: this avoids the walk.
  if (document.loc && !longName.test(document.loc.source.body)) return null
  let long = false
  visit(document, {
    Field({ alias }) {
      long ||= (alias?.value.length ?? 0) > maxAlias
    },
  })
  return long ? invalidAt(['document'], `has an alias of more than ${maxAlias} characters`) : null
}

/**
 * The cost of the operation, or why it is refused. Computed before execution, so that subscriptions are refused at
 * once.
 */
function costOf(args: Operation, operation: OperationDefinitionNode): AppError | number {
  const definitions = args.document.definitions.filter(
    (definition) => definition.kind !== Kind.OPERATION_DEFINITION || definition === operation,
  )
  const cost = complexityFromQuery(
    { ...args.document, definitions },
    { schema: args.schema, variables: args.variableValues ?? {} },
  )
  for (const name of ['depth', 'breadth', 'complexity'] as const)
    if (cost[name] > operationLimits[name])
      return invalidAt(
        ['document'],
        `has a ${name} of ${cost[name]}; at most ${operationLimits[name]} is allowed`,
      )
  return cost.complexity
}

/**
 * Checks an operation just before it runs: its variables, its use of introspection and its cost, on every transport.
 */
import { complexityFromQuery } from '@pothos/plugin-complexity'
import {
  getOperationAST,
  Kind,
  visit,
  type DocumentNode,
  type GraphQLError,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql'
import { AppError, invalid, invalidAt } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { unauthenticated } from '../../../domain/access/index.ts'
import { operationLimits } from '../builder/builder.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { maskError } from '../builder/errors.ts'
import { introspectionLimits, introspectionOf, type Introspection } from './introspection.ts'
import { pointsOf, spend } from './operation-cost.ts'
import { variableFaults } from './variables.ts'

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
  if (asked && production && args.contextValue.anonymous) return unauthenticated()
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

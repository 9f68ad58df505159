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
import type { Plugin } from 'graphql-yoga'
import { AppError, invalid, invalidAt } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { unauthenticated } from '../../domain/access/index.ts'
import { operationLimits } from './builder.ts'
import type { GraphQLContext } from './context.ts'
import { maskError } from './errors.ts'
import { introspectionLimits, introspectionOf, type Introspection } from './introspection.ts'
import { pointsOf, spend } from './operation-cost.ts'
import { variableFaults } from './variables.ts'

interface Operation {
  schema: GraphQLSchema
  document: DocumentNode
  operationName?: string | null | undefined
  variableValues?: Record<string, unknown> | null
  contextValue: GraphQLContext
}

/**
 * Yoga plugin: refuses an operation as a whole for invalid variables (their values are never repeated) or excessive
 * cost.
 */
export function operationGuard(log: Log, production: boolean): Plugin<GraphQLContext> {
  const check = async ({ args, setResultAndStopExecution }: { args: Operation } & Stopping) => {
    const judged = judge(args, production)
    const fault = judged instanceof AppError ? judged : await spend(args.contextValue, judged)
    if (fault) setResultAndStopExecution({ errors: [refusal(fault, log)] })
  }
  return { onExecute: check, onSubscribe: check }
}

interface Stopping {
  setResultAndStopExecution(result: { errors: GraphQLError[] }): void
}

function refusal(fault: AppError, log: Log): GraphQLError {
  const error = maskError(fault, log)
  if (fault.code !== 'INVALID') return error
  // `spec` leaves the status at 200 for clients that ask for application/json, as GraphQL over HTTP wants it.
  error.extensions['http'] = { spec: true, status: 400 }
  return error
}

/** Why the operation is refused, or its cost in points. */
function judge(args: Operation, production: boolean): AppError | number {
  const operation = getOperationAST(args.document, args.operationName)
  if (!operation) return pointsOf(0)
  const asked = introspectionOf(args.schema, args.document, operation)
  if (asked && production && args.contextValue.anonymous) return unauthenticated()
  const document = (asked && introspectionFault(asked)) ?? nameFault(args.document)
  if (document) return document
  const issues = variableFaults(args.schema, operation, args.variableValues)
  if (issues.length > 0) return invalid(issues)
  const cost = costOf(args, operation)
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

/** The last look before an operation runs: what its variables are and what it costs, the same on every transport. */
import { complexityFromQuery } from '@pothos/plugin-complexity'
import {
  coerceInputValue,
  getNamedType,
  getNullableType,
  getOperationAST,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  Kind,
  typeFromAST,
  type DocumentNode,
  type GraphQLError,
  type GraphQLInputType,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { invalid, invalidAt, type AppError, type Issue } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { operationLimits } from './builder.ts'
import { maskError } from './errors.ts'

interface Operation {
  schema: GraphQLSchema
  document: DocumentNode
  operationName?: string | null
  variableValues?: Record<string, unknown> | null
}

const maxIssues = 20

/** Refuses an operation as a whole, before anything is read: faulty variables (never repeated) and excessive cost. */
export function operationGuard(log: Log): Plugin {
  const look = ({ args, setResultAndStopExecution }: { args: Operation } & Stopping) => {
    const fault = faultOf(args)
    if (fault) setResultAndStopExecution({ errors: [refusal(fault, log)] })
  }
  return { onExecute: look as never, onSubscribe: look as never }
}

interface Stopping {
  setResultAndStopExecution(result: { errors: GraphQLError[] }): void
}

function refusal(fault: AppError, log: Log): GraphQLError {
  const error = maskError(fault, log)
  // `spec` leaves the status at 200 for clients that ask for application/json, as GraphQL over HTTP wants it.
  error.extensions['http'] = { spec: true, status: 400 }
  return error
}

function faultOf(args: Operation): AppError | null {
  const operation = getOperationAST(args.document, args.operationName)
  if (!operation) return null
  const issues = variableFaults(args, operation)
  return issues.length > 0 ? invalid(issues) : costFault(args, operation)
}

/** graphql-js refuses the same values, but repeats them in its message: a secret of a wrong type would be told. */
function variableFaults({ schema, variableValues }: Operation, operation: OperationDefinitionNode): Issue[] {
  const issues: Issue[] = []
  for (const definition of operation.variableDefinitions ?? []) {
    const name = definition.variable.name.value
    const type = typeFromAST(schema, definition.type as never)
    if (!isInputType(type) || !variableValues || !Object.hasOwn(variableValues, name)) continue
    coerceInputValue(variableValues[name], type, (path, _value, error) => {
      if (issues.length >= maxIssues) return
      issues.push({ path: [name, ...path.map(String)], message: ruleOf(error.message, typeAt(type, path)) })
    })
  }
  return issues
}

/** These speak of the schema only; every other message of a scalar or an enum repeats the value. */
const aboutTheSchema =
  /^(?:Expected non-nullable type |Expected type "\w+" to be |Expected JSON of |Field "|Exactly one )/

function ruleOf(message: string, type: GraphQLInputType): string {
  if (aboutTheSchema.test(message)) return message.replace(/ Did you mean .*$/s, '').slice(0, 200)
  const named = getNamedType(type)
  if (!isEnumType(named)) return `must be a ${named.name}`
  return `must be one of ${named
    .getValues()
    .map((value) => value.name)
    .join(', ')}`
}

function typeAt(type: GraphQLInputType, path: readonly (string | number)[]): GraphQLInputType {
  let at: GraphQLInputType = type
  for (const key of path) {
    const open: GraphQLInputType = getNullableType(at) as GraphQLInputType
    if (isListType(open)) at = open.ofType as GraphQLInputType
    else if (isInputObjectType(open)) at = open.getFields()[key]?.type ?? open
  }
  return at
}

/** Counted here and not in the resolvers, so that subscriptions are refused when they open. */
function costFault(args: Operation, operation: OperationDefinitionNode): AppError | null {
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
  return null
}

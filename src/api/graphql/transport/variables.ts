/** Validates the variables of an operation: first the length of lists, then the types, up to a maximum of faults. */
import {
  coerceInputValue,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  typeFromAST,
  type GraphQLInputType,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql'
import type { Issue } from '../../../core/errors.ts'
import { isJsonObject } from '../../../core/json.ts'

/** Maximum entries of one list and of all lists together, and the number of faults after which validation stops. */
export const variableLimits = { listItems: 1000, items: 5000, issues: 20 }

/** Thrown to end a walk early. */
class TooManyFaultsError extends Error {}

/**
 * The faults of the variables, at most `variableLimits.issues`; empty when they are valid. Lists inside JSON values are
 * not counted, because their entries are not coerced. graphql-js refuses the same values, but validates all of them
 * first and repeats them in its message, so that a secret of a wrong type would be disclosed.
 */
export function variableFaults(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  values: Record<string, unknown> | null | undefined,
): Issue[] {
  if (!values) return []
  const given = (operation.variableDefinitions ?? []).flatMap((definition) => {
    const name = definition.variable.name.value
    const type = typeFromAST(schema, definition.type)
    return isInputType(type) && Object.hasOwn(values, name) ? [{ name, type, value: values[name] }] : []
  })
  const issues: Issue[] = []
  const counted = { items: 0 }
  const add = (issue: Issue) => {
    issues.push(issue)
    if (issues.length >= variableLimits.issues) throw new TooManyFaultsError()
  }
  try {
    for (const { name, type, value } of given) measure(value, type, [name], counted, add)
    if (issues.length > 0) return issues
    for (const { name, type, value } of given)
      coerceInputValue(value, type, (path, _value, error) =>
        add({ path: [name, ...path.map(String)], message: ruleOf(error.message, typeAt(type, path)) }),
      )
  } catch (error) {
    if (!(error instanceof TooManyFaultsError)) throw error
  }
  return issues
}

/**
 * Counts the entries of lists where the schema has lists. A list that is too long is a fault, and its entries are
 * skipped.
 */
function measure(
  value: unknown,
  type: GraphQLInputType,
  path: string[],
  counted: { items: number },
  add: (issue: Issue) => void,
): void {
  const open = getNullableType(type) as GraphQLInputType
  if (isListType(open)) {
    if (!Array.isArray(value)) return measure(value, open.ofType as GraphQLInputType, path, counted, add)
    if (value.length > variableLimits.listItems)
      return add({ path, message: `must have at most ${variableLimits.listItems} entries` })
    counted.items += value.length
    if (counted.items > variableLimits.items) {
      add({ path, message: `makes more than ${variableLimits.items} entries in all lists together` })
      throw new TooManyFaultsError()
    }
    for (const [i, item] of value.entries())
      measure(item, open.ofType as GraphQLInputType, [...path, String(i)], counted, add)
  } else if (isInputObjectType(open) && isJsonObject(value)) {
    for (const field of Object.values(open.getFields()))
      if (Object.hasOwn(value, field.name))
        measure(value[field.name], field.type, [...path, field.name], counted, add)
  }
}

/** Messages of graphql-js that name the schema only; every other message of a scalar or an enum repeats the value. */
const schemaMessage =
  /^(?:Expected non-nullable type |Expected type "\w+" to be |Expected JSON of |Field "|Exactly one )/

function ruleOf(message: string, type: GraphQLInputType): string {
  if (schemaMessage.test(message)) return message.replace(/ Did you mean .*$/s, '').slice(0, 200)
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

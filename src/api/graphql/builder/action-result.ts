/** Converts the type of a field and what is selected of it to JSON Schema: the outputSchema of a platform action. Pure. */
import {
  getNamedType,
  getNullableType,
  isEnumType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLOutputType,
  type SelectionNode,
} from 'graphql'
import type { JsonObject } from '../../../core/json.ts'
import { scalars } from './action-schema.ts'

/** The schema of what an operation with one root field responds with when it is not refused. */
export function schemaOfResult(field: GraphQLField<unknown, unknown>, document: DocumentNode): JsonObject {
  const [operation] = document.definitions
  if (operation?.kind !== 'OperationDefinition') throw new Error('The document has no operation.')
  const root = operation.selectionSet.selections[0] as FieldNode
  const named = getNamedType(field.type)
  if (!isUnionType(named)) return withoutTypeName(schemaOfType(field.type, root))
  // Its other members are refusals, which are errors.
  const payload = named.getTypes().find((member) => member.name.endsWith('Payload'))!
  const chosen = root.selectionSet!.selections.flatMap((one) =>
    one.kind === 'InlineFragment' && one.typeCondition?.name.value === payload.name
      ? one.selectionSet.selections
      : [],
  )
  return schemaOfFields(payload, chosen)
}

/** The name of its type is taken from the result itself. */
function withoutTypeName(schema: JsonObject): JsonObject {
  const { __typename: _, ...properties } = schema['properties'] as JsonObject
  return {
    ...schema,
    properties,
    required: (schema['required'] as string[]).filter((name) => name !== '__typename'),
  }
}

function schemaOfType(type: GraphQLOutputType, node: FieldNode): JsonObject {
  const schema = schemaOfNullable(getNullableType(type) as GraphQLOutputType, node)
  if (isNonNullType(type) || schema['type'] === undefined) return schema
  return {
    ...schema,
    type: [schema['type'] as string, 'null'],
    ...(Array.isArray(schema['enum']) ? { enum: [...schema['enum'], null] } : {}),
  }
}

function schemaOfNullable(type: GraphQLOutputType, node: FieldNode): JsonObject {
  if (isListType(type)) return { type: 'array', items: schemaOfType(type.ofType as GraphQLOutputType, node) }
  if (isEnumType(type)) return { type: 'string', enum: type.getValues().map(({ name }) => name) }
  if (isObjectType(type) || isInterfaceType(type))
    return schemaOfFields(type, node.selectionSet?.selections ?? [])
  const known = scalars[(type as { name: string }).name]
  if (!known) throw new Error(`The type ${String(type)} has no JSON Schema.`)
  return known
}

function schemaOfFields(
  type: { name: string; getFields(): Record<string, GraphQLField<unknown, unknown>> },
  selected: readonly SelectionNode[],
): JsonObject {
  const properties: JsonObject = {}
  for (const one of selected) {
    if (one.kind !== 'Field') throw new Error(`The selection of ${type.name} must have fields only.`)
    const name = one.name.value
    const field = type.getFields()[name]
    if (name === '__typename') properties[name] = { type: 'string' }
    else if (!field) throw new Error(`${type.name} has no field ${name}.`)
    else {
      const schema = schemaOfType(field.type, one)
      properties[name] = field.description ? { ...schema, description: field.description } : schema
    }
  }
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

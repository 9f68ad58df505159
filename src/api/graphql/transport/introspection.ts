/** The use of introspection by a document: how often, and how many fields it would return. */
import {
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  getNamedType,
  Kind,
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'

/** Limits for one document: selections of `__schema` and of `__type`, and the fields that they may return together. */
export const introspectionLimits = { schemas: 1, types: 10, fields: 40_000 }

/** The use of introspection by an operation. */
export interface Introspection {
  /** Selections of `__schema`, those in fragments included. */
  schemas: number
  /** Selections of `__type`, those in fragments included. */
  types: number
  /** An estimate of the fields that the operation would return, by the lengths of the lists of this schema. */
  fields: number
}

/** The use of introspection by an operation; null when it selects neither `__schema` nor `__type`. */
export function introspectionOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): Introspection | null {
  // Most documents have no such field: this avoids the walk.
  if (document.loc && !/__(?:schema|type)\b/.test(document.loc.source.body)) return null
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions)
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition)
  const found: Introspection = { schemas: 0, types: 0, fields: 0 }
  const sizes = sizesOf(schema)
  const walk = walkerOf(sizes, fragments)
  const open: SelectionSetNode[] = [operation.selectionSet]
  const seen = new Set<SelectionSetNode>()
  for (let at = open.pop(); at; at = open.pop())
    for (const selection of at.selections) {
      if (selection.kind === Kind.INLINE_FRAGMENT) open.push(selection.selectionSet)
      else if (selection.kind === Kind.FRAGMENT_SPREAD) {
        const inner = fragments.get(selection.name.value)?.selectionSet
        // A fragment that is spread twice returns the same fields once.
        if (inner && !seen.has(inner)) open.push(inner)
        if (inner) seen.add(inner)
      } else if (selection.name.value === '__schema') {
        found.schemas += 1
        found.fields += walk(selection.selectionSet)
      } else if (selection.name.value === '__type') {
        found.types += 1
        found.fields += sizes['largest']! * walk(selection.selectionSet)
      }
    }
  return found.schemas + found.types > 0 ? found : null
}

type Sizes = Record<string, number>

/** Counts the fields under a selection set. Each set is walked once; counts are capped at the largest safe integer. */
function walkerOf(sizes: Sizes, fragments: Map<string, FragmentDefinitionNode>) {
  const counted = new Map<SelectionSetNode, number>()
  const walk = (set: SelectionSetNode | undefined): number => {
    if (!set) return 0
    const before = counted.get(set)
    if (before !== undefined) return before
    let total = 0
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) {
        const times = sizes[selection.name.value] ?? 1
        total += times * (1 + walk(selection.selectionSet))
      } else if (selection.kind === Kind.INLINE_FRAGMENT) total += walk(selection.selectionSet)
      else total += walk(fragments.get(selection.name.value)?.selectionSet)
    }
    total = Math.min(total, Number.MAX_SAFE_INTEGER)
    counted.set(set, total)
    return total
  }
  return walk
}

const sizesBySchema = new WeakMap<GraphQLSchema, Sizes>()

/**
 * The lengths of the lists of introspection in this schema: exact for types and directives, the mean for all others.
 */
function sizesOf(schema: GraphQLSchema): Sizes {
  const known = sizesBySchema.get(schema)
  if (known) return known
  const types = Object.values(schema.getTypeMap())
  const withFields = types.filter((type) => isObjectType(type) || isInterfaceType(type))
  const fields = withFields.flatMap((type) => Object.values(type.getFields()))
  const inputs = types.filter((type) => isInputObjectType(type))
  const enums = types.filter((type) => isEnumType(type))
  const mean = (sum: number, of: number) => (of === 0 ? 0 : sum / of)
  const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0)
  // A field leads to its type: a type of many fields counts as often.
  const behindFields = fields.map((field) => {
    const named = getNamedType(field.type)
    return isObjectType(named) || isInterfaceType(named) ? Object.keys(named.getFields()).length : 0
  })
  const sizes: Sizes = {
    types: types.length,
    fields: Math.max(mean(fields.length, types.length), mean(sum(behindFields), behindFields.length)),
    args: mean(sum(fields.map((field) => field.args.length)), fields.length),
    inputFields: mean(sum(inputs.map((type) => Object.keys(type.getFields()).length)), types.length),
    enumValues: mean(sum(enums.map((type) => type.getValues().length)), types.length),
    interfaces: mean(sum(withFields.map((type) => type.getInterfaces().length)), types.length),
    possibleTypes: mean(
      sum(
        types.map((type) =>
          'getTypes' in type
            ? type.getTypes().length
            : isInterfaceType(type)
              ? schema.getPossibleTypes(type).length
              : 0,
        ),
      ),
      types.length,
    ),
    directives: schema.getDirectives().length,
    largest: 0,
    // About half of the types of fields are wrapped in a list or non-null type.
    ofType: 0.5,
  }
  // Assume that __type names the largest type.
  sizes['largest'] =
    Math.max(...withFields.map((type) => Object.keys(type.getFields()).length)) / sizes['fields']!
  sizesBySchema.set(schema, sizes)
  return sizes
}

/** Operations derived from the schema, so that tests that iterate over it cover fields that are added later. */
import {
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLNamedType,
} from 'graphql'
import { schemaOf } from '../../../src/api/graphql/types/schema.ts'

export const schema = schemaOf()

export interface RootField {
  kind: 'query' | 'mutation' | 'subscription'
  field: GraphQLField<unknown, unknown>
  name: string
}

/** Every field of the three root types. */
export const rootFields: RootField[] = (
  [
    ['query', schema.getQueryType()],
    ['mutation', schema.getMutationType()],
    ['subscription', schema.getSubscriptionType()],
  ] as const
).flatMap(([kind, type]) =>
  Object.values(type!.getFields()).map((field) => ({ kind, field, name: field.name })),
)

/**
 * A document that calls the field with all its arguments as variables and selects two levels of the result. A type is
 * expanded once on each path and once in each selection; further fields of that type select their id only.
 */
export function documentOf({ kind, field }: RootField): string {
  const declared = field.args
    .map((arg) => `$${arg.name}: ${String(arg.type)}${arg.name === 'first' ? ' = 2' : ''}`)
    .join(', ')
  const passed = field.args.map((arg) => `${arg.name}: $${arg.name}`).join(', ')
  const brackets = (text: string) => (text ? `(${text})` : '')
  return `${kind} ${brackets(declared)} { ${field.name}${brackets(passed)} ${selection(getNamedType(field.type), 2)} }`
}

function selection(type: GraphQLNamedType, depth: number, from: readonly GraphQLNamedType[] = []): string {
  if (isLeafType(type)) return ''
  if (isUnionType(type)) {
    const payload = type.getTypes().find((member) => member.name.endsWith('Payload'))!
    return `{ __typename ... on ${payload.name} ${selection(payload, depth, from)} ... on Error { message code }
      ... on ValidationError { issues { path message } } }`
  }
  if (!isObjectType(type) && !isInterfaceType(type)) throw new Error(`cannot select of ${type.name}`)
  const known = new Set<GraphQLNamedType>([...from, type])
  const fields = Object.values(type.getFields()).flatMap((field) => {
    if (field.args.some((arg) => isNonNullType(arg.type))) return []
    const named = getNamedType(field.type)
    if (isLeafType(named)) return [field.name]
    if (depth === 0) return []
    // A list in a list costs its maximum, so request only a few entries.
    const few = field.args.some((arg) => arg.name === 'first') ? '(first: 3)' : ''
    if (known.has(named) && hasId(named)) return [`${field.name}${few} { __typename id }`]
    known.add(named)
    if (depth === 1 && !isUnionType(named) && !hasLeaf(named)) return []
    return [`${field.name}${few} ${selection(named, depth - 1, [...from, type])}`]
  })
  return `{ __typename ${fields.join(' ')} }`
}

/** Whether the type has a field of a scalar or enum type. */
function hasLeaf(type: GraphQLNamedType): boolean {
  const fields = isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : []
  return fields.some((field) => isLeafType(getNamedType(field.type)))
}

function hasId(type: GraphQLNamedType): boolean {
  return (isObjectType(type) || isInterfaceType(type)) && 'id' in type.getFields()
}

/** Values for the arguments: ids of existing objects by prefix, and fields that the schema does not require. */
export interface Own {
  /** By prefix, such as `tool_`. */
  ids: Record<string, string>
  /** Fields by input type that the server needs and the schema does not require. */
  extras: Record<string, object>
}

let count = 0

/** The smallest arguments with which the field can succeed. */
export function minimalArguments({ field }: RootField, own: Own): Record<string, unknown> {
  return Object.fromEntries(
    field.args.filter((arg) => isNonNullType(arg.type)).map((arg) => [arg.name, minimal(arg, arg.type, own)]),
  )
}

/** Texts that have a form. */
const texts: Record<string, string> = { url: 'http://127.0.0.1:9/x', model: 'openai/one' }

function minimal(at: GraphQLArgument | GraphQLInputField, type: GraphQLInputType, own: Own): unknown {
  const open = getNullableType(type) as GraphQLInputType
  if (isListType(open)) return [minimal(at, open.ofType as GraphQLInputType, own)]
  if (isEnumType(open)) return open.getValues()[0]!.name
  if (isInputObjectType(open)) {
    const fields = Object.values(open.getFields())
    const chosen = open.isOneOf ? fields.slice(0, 1) : fields.filter((field) => isNonNullType(field.type))
    const made = Object.fromEntries(chosen.map((field) => [field.name, minimal(field, field.type, own)]))
    return { ...made, ...own.extras[open.name] }
  }
  const name = getNamedType(open).name
  if (name === 'ID') return own.ids[prefixOf(at) ?? Object.keys(own.ids)[0]!]
  if (name === 'String') return texts[at.name] ?? `n${++count}`
  const values: Record<string, unknown> = {
    Int: 1,
    Float: 1,
    Boolean: true,
    JSONSchema: {},
    JSONObject: {},
    JSON: {},
    DateTime: '2026-01-01T00:00:00.000Z',
  }
  if (!(name in values)) throw new Error(`no minimal value for ${name} at ${at.name}`)
  return values[name]
}

/** The prefix of an id, from its description: "The id of the tool; it begins with tool_." */
function prefixOf(at: { description?: string | null | undefined }): string | null {
  return /\bbegins with (\w+_)/.exec(at.description ?? '')?.[1] ?? null
}

type Step = string | 0

/** The paths of all values of these scalars in the arguments of the field, those in optional inputs too. */
export function placesOf({ field }: RootField, scalars: string[]): Step[][] {
  const found: Step[][] = []
  const walk = (type: GraphQLInputType, path: Step[]): void => {
    const open = getNullableType(type) as GraphQLInputType
    if (path.length > 12) return
    if (isListType(open)) walk(open.ofType as GraphQLInputType, [...path, 0])
    else if (isInputObjectType(open))
      Object.values(open.getFields()).forEach((inner) => walk(inner.type, [...path, inner.name]))
    else if (scalars.includes(getNamedType(open).name)) found.push(path)
  }
  field.args.forEach((arg) => walk(arg.type, [arg.name]))
  return found
}

/** The prefix of the id at this path, by its description; null when ids of any kind may stand there. */
export function prefixAt({ field }: RootField, path: Step[]): string | null {
  let at: GraphQLArgument | GraphQLInputField = field.args.find((arg) => arg.name === path[0])!
  for (const key of path.slice(1)) {
    const type = getNamedType(at.type)
    if (key !== 0 && isInputObjectType(type)) at = type.getFields()[key]!
  }
  return prefixOf(at)
}

/** The smallest arguments with this value at this path; inputs along the path are as small as possible. */
export function argumentsWith(
  root: RootField,
  own: Own,
  path: Step[],
  value: unknown,
): Record<string, unknown> {
  const made = structuredClone(minimalArguments(root, own)) as any
  let at = made
  let fields: Record<string, GraphQLArgument | GraphQLInputField> = Object.fromEntries(
    root.field.args.map((arg) => [arg.name, arg]),
  )
  let type: GraphQLInputType | null = null
  let owner: { isOneOf?: boolean } = {}
  path.forEach((key, i) => {
    type = key === 0 ? (getNullableType(type!) as any).ofType : fields[key]!.type
    const open = getNullableType(type!) as GraphQLInputType
    // A @oneOf input has exactly one member.
    if (owner.isOneOf) for (const other of Object.keys(at)) if (other !== key) delete at[other]
    if (i === path.length - 1) at[key] = value
    else {
      const inner = minimal({ name: String(key) } as GraphQLInputField, open, own)
      at[key] = isListType(open) ? (Array.isArray(at[key]) ? at[key] : inner) : (at[key] ?? inner)
      at = at[key]
    }
    if (isInputObjectType(open)) {
      fields = open.getFields()
      owner = open
    } else owner = {}
  })
  return made
}

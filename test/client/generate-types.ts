/** Writes the TypeScript types of the client's operations from their documents and the schema. */
import { eventKinds } from '../../src/domain/events/index.ts'
import {
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  parse,
  typeFromAST,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'

const scalars: Record<string, string> = {
  ID: 'string',
  String: 'string',
  DateTime: 'string',
  Int: 'number',
  Float: 'number',
  Boolean: 'boolean',
  JSON: 'unknown',
  JSONObject: 'Record<string, unknown>',
  JSONSchema: 'Record<string, unknown>',
}

const comment = (description: string | null | undefined, indent: string) =>
  description ? `${indent}/** ${description.trim().replace(/\s+/g, ' ')} */\n` : ''

/** A field of a type: its key, its type and its description. */
interface Field {
  type: string
  description: string
}

/** The text of operation-types.ts for these documents. Throws when a document does not fit the schema. */
export function generateTypes(schema: GraphQLSchema, documents: readonly string[]): string {
  const generator = new Generator(schema)
  for (const text of documents) generator.add(text)
  return generator.text()
}

class Generator {
  readonly #schema: GraphQLSchema
  readonly #enums = new Map<string, string>()
  readonly #inputs = new Map<string, string>()
  readonly #fragments = new Map<string, string>()
  readonly #operations = new Map<string, string>()
  #known = new Map<string, FragmentDefinitionNode>()

  constructor(schema: GraphQLSchema) {
    this.#schema = schema
  }

  add(text: string): void {
    const { definitions } = parse(text)
    const fragments = definitions.filter((one) => one.kind === 'FragmentDefinition')
    this.#known = new Map(fragments.map((one) => [one.name.value, one]))
    for (const one of definitions) if (one.kind === 'OperationDefinition') this.#addOperation(one)
  }

  text(): string {
    const sorted = (map: Map<string, string>) =>
      [...map].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, code]) => code)
    return [
      '/** The types of documents.ts, written by `npm run schema` from docs/schema.graphql. Do not edit. */',
      ...sorted(this.#enums),
      ...sorted(this.#inputs),
      ...sorted(this.#fragments),
      ...sorted(this.#operations),
      '',
    ].join('\n\n')
  }

  #addOperation({ operation, name, selectionSet, variableDefinitions = [] }: OperationDefinitionNode): void {
    const title = name!.value
    const root = this.#schema.getRootType(operation)!
    const variables = variableDefinitions.map(({ variable, type }) => {
      const input = typeFromAST(this.#schema, type as never) as GraphQLInputType
      const optional = isNonNullType(input) ? '' : '?'
      return `  ${variable.name.value}${optional}: ${this.#inputType(input)}`
    })
    const body = variables.length > 0 ? `{\n${variables.join('\n')}\n}` : '{}'
    this.#operations.set(
      title,
      `export interface ${title}Data ${this.#object(root, selectionSet)}\n\nexport interface ${title}Variables ${body}`,
    )
  }

  #enum(name: string): string {
    const type = this.#schema.getType(name)
    if (!isEnumType(type)) throw new Error(`${name} is no enum`)
    const values = type.getValues().map((value) => `'${value.name}'`)
    this.#enums.set(name, `${comment(type.description, '')}export type ${name} = ${values.join(' | ')}`)
    return name
  }

  #inputType(type: GraphQLInputType): string {
    if (isNonNullType(type)) return this.#present(type.ofType)
    return `${this.#present(type)} | null`
  }

  #present(type: GraphQLInputType): string {
    if (isListType(type)) return `readonly (${this.#inputType(type.ofType)})[]`
    const named = getNamedType(type)
    if (isEnumType(named)) return this.#enum(named.name)
    if (!isInputObjectType(named)) return scalars[named.name]!
    if (!this.#inputs.has(named.name)) {
      this.#inputs.set(named.name, '')
      const fields = Object.values(named.getFields())
      const lines = fields.map((field) => {
        const optional = isNonNullType(field.type) ? '' : '?'
        return `${comment(field.description, '  ')}  ${field.name}${optional}: ${this.#inputType(field.type)}`
      })
      const head = comment(named.description, '')
      const oneOf = fields.map((field) => `{ ${field.name}: ${this.#present(field.type)} }`)
      const code = named.isOneOf
        ? `export type ${named.name} = ${oneOf.join(' | ')}`
        : `export interface ${named.name} {\n${lines.join('\n')}\n}`
      this.#inputs.set(named.name, head + code)
    }
    return named.name
  }

  #outputType(type: GraphQLOutputType, selections: SelectionSetNode | undefined): string {
    if (isNonNullType(type)) return this.#value(type.ofType, selections)
    return `${this.#value(type, selections)} | null`
  }

  #value(type: GraphQLOutputType, selections: SelectionSetNode | undefined): string {
    if (isListType(type)) return `(${this.#outputType(type.ofType, selections)})[]`
    const named = getNamedType(type)
    if (isEnumType(named)) return this.#enum(named.name)
    if (!selections) return scalars[named.name]!
    const [only] = selections.selections
    if (selections.selections.length === 1 && only!.kind === 'FragmentSpread')
      return this.#fragment(only!.name.value)
    return this.#composite(named as GraphQLCompositeType, selections)
  }

  #fragment(name: string): string {
    if (!this.#fragments.has(name)) {
      this.#fragments.set(name, '')
      const { typeCondition, selectionSet } = this.#known.get(name)!
      const type = this.#schema.getType(typeCondition.name.value) as GraphQLCompositeType
      const body = this.#composite(type, selectionSet)
      const head = comment(type.description, '')
      const code = isObjectType(type) ? `export interface ${name} ${body}` : `export type ${name} =\n${body}`
      this.#fragments.set(name, head + code)
    }
    return name
  }

  /** An object type, or the union of the members of an abstract type; of a result only its payload, as errors are thrown. */
  #composite(type: GraphQLCompositeType, selections: SelectionSetNode): string {
    if (!isAbstractType(type)) return this.#object(type, selections)
    const possible = this.#schema
      .getPossibleTypes(type)
      .filter((one) => !type.name.endsWith('Result') || one.name.endsWith('Payload'))
    const groups = new Map<string, GraphQLObjectType[]>()
    for (const one of possible) {
      const fields = this.#fields(one, selections)
      fields.delete('type')
      const shape = JSON.stringify([...fields].map(([key, field]) => [key, field.type]))
      groups.set(shape, [...(groups.get(shape) ?? []), one])
    }
    const members = [...groups.values()].map((types) => this.#object(types[0]!, selections, types))
    return members.length === 1 ? members[0]! : members.map((one) => `  | ${one}`).join('\n')
  }

  /** `types` share one shape; the field `type` of events tells which of them it is. */
  #object(type: GraphQLObjectType, selections: SelectionSetNode, types = [type]): string {
    const lines = [...this.#fields(type, selections)].map(([key, field]) => {
      const isKind = key === 'type' && type.name.endsWith('Event')
      const kinds = () =>
        types
          .flatMap((one) => this.#eventTypes(one.name))
          .map((one) => `'${one}'`)
          .join(' | ')
      return `${comment(field.description, '  ')}  ${key}: ${isKind ? kinds() : field.type}`
    })
    return `{\n${lines.join('\n')}\n}`
  }

  /** The values of EventType that belong to an object type. */
  #eventTypes(name: string): string[] {
    const object = name.replace(/Event$/, '')
    const shared = Object.values(eventKinds).flatMap(({ type, facts }) =>
      facts.object === object ? [type] : [],
    )
    if (shared.length > 0) return shared.toSorted()
    const value = object.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()
    const type = this.#schema.getType('EventType')
    if (!isEnumType(type) || !type.getValue(value)) throw new Error(`${name} has no event type ${value}`)
    return [value]
  }

  #fields(type: GraphQLObjectType, selections: SelectionSetNode): Map<string, Field> {
    const found = new Map<string, Field>()
    for (const one of selections.selections) {
      if (one.kind === 'Field') {
        if (one.name.value === '__typename') continue
        const field = type.getFields()[one.name.value]
        if (!field) throw new Error(`${type.name} has no field ${one.name.value}`)
        const key = one.alias?.value ?? one.name.value
        const value = this.#outputType(field.type, one.selectionSet)
        found.set(key, { type: value, description: field.description ?? '' })
        continue
      }
      const fragment = one.kind === 'InlineFragment' ? one : this.#known.get(one.name.value)
      if (!fragment) throw new Error(`no fragment for ${JSON.stringify(one)}`)
      const condition = fragment.typeCondition?.name.value ?? type.name
      const applies = condition === type.name || type.getInterfaces().some(({ name }) => name === condition)
      if (applies) for (const [key, field] of this.#fields(type, fragment.selectionSet)) found.set(key, field)
    }
    return found
  }
}

/** The schema as a contract: the committed file is the schema of the server, and its conventions hold everywhere. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isLeafType,
  isNonNullType,
  isObjectType,
  isSpecifiedScalarType,
  isUnionType,
  getNamedType,
  lexicographicSortSchema,
  OverlappingFieldsCanBeMergedRule,
  parse,
  printSchema,
  validate,
  type GraphQLArgument,
  type GraphQLCompositeType,
  type GraphQLObjectType,
} from 'graphql'
import { expect, test } from 'vitest'
import { schemaOf } from '../../../src/api/graphql/types/schema.ts'

const file = join(import.meta.dirname, '../../../docs/schema.graphql')
const possibleTypesFile = join(import.meta.dirname, '../../../client/possible-types.json')
const schema = schemaOf()
const types = Object.values(schema.getTypeMap()).filter(
  (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
)
const mutations = Object.values(schema.getMutationType()!.getFields())
const errorType = schema.getType('Error')
if (!isInterfaceType(errorType)) throw new Error('Error is no interface')

test('docs/schema.graphql is the schema of the server; "npm run schema" writes it', async () => {
  const printed = `${printSchema(lexicographicSortSchema(schema))}\n`
  if (process.env['UPDATE']) await writeFile(file, printed)
  expect(await readFile(file, 'utf8')).toBe(printed)
})

test('client/possible-types.json has the types of every interface and union; "npm run schema" writes it', async () => {
  const abstract = types.filter((type) => isInterfaceType(type) || isUnionType(type))
  const possible = abstract.map((type) => [
    type.name,
    schema
      .getPossibleTypes(type)
      .map(({ name }) => name)
      .toSorted(),
  ])
  const sorted = possible.toSorted(([one], [other]) => String(one).localeCompare(String(other)))
  const printed = `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`
  if (process.env['UPDATE']) await writeFile(possibleTypesFile, printed)
  expect(await readFile(possibleTypesFile, 'utf8')).toBe(printed)
})

test('every type, field, argument, input field and enum value is described', () => {
  const silent: string[] = []
  const check = (path: string, { description }: { description?: string | null | undefined }) => {
    if (!description?.trim()) silent.push(path)
  }
  for (const type of types) {
    check(type.name, type)
    if (isEnumType(type)) type.getValues().forEach((value) => check(`${type.name}.${value.name}`, value))
    if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) continue
    for (const field of Object.values(type.getFields())) {
      check(`${type.name}.${field.name}`, field)
      if ('args' in field)
        field.args.forEach((arg: GraphQLArgument) => check(`${type.name}.${field.name}(${arg.name}:)`, arg))
    }
  }
  expect(silent).toEqual([])
})

test('every mutation takes exactly one input, which is required and named after it', () => {
  expect(mutations.length).toBeGreaterThan(10)
  for (const { name, args } of mutations) {
    const pascal = name[0]!.toUpperCase() + name.slice(1)
    expect(args.map((arg) => `${arg.name}: ${String(arg.type)}`)).toEqual([`input: ${pascal}Input!`])
  }
})

test('every mutation returns a union of its payload and errors, with ValidationError always among them', () => {
  for (const { name, type } of mutations) {
    const union = getNamedType(type)
    expect(isNonNullType(type), name).toBe(true)
    if (!isUnionType(union)) throw new Error(`${name} returns no union`)
    const errors = union.getTypes().filter((member) => member.getInterfaces().includes(errorType))
    const others = union.getTypes().filter((member) => !errors.includes(member))
    expect(others.map((member) => member.name)).toEqual([union.name.replace(/Result$/, 'Payload')])
    expect(errors.map((member) => member.name)).toContain('ValidationError')
  }
})

test('every type that is named an error of a mutation implements Error', () => {
  const named = types
    .filter(isObjectType)
    .filter((type) => /(?:Error|Conflict)$/.test(type.name) && type.name !== 'GenerationError')
  expect(named.length).toBeGreaterThan(5)
  for (const type of named) expect(type.getInterfaces().map(String), type.name).toContain('Error')
})

test('lists that grow are connections with a cursor on every edge', () => {
  const connections = types.filter(isObjectType).filter((type) => type.name.endsWith('Connection'))
  expect(connections.length).toBeGreaterThan(5)
  for (const type of connections) {
    const fields = type.getFields()
    expect(Object.keys(fields).toSorted(), type.name).toEqual(['edges', 'nodes', 'pageInfo'])
    expect(String(fields['edges']!.type)).toMatch(/^\[\w+Edge!\]!$/)
    expect(String(fields['nodes']!.type)).toMatch(/^\[\w+!\]!$/)
  }
})

test('all fields of all members of a union or interface can be selected in one document, without aliases', () => {
  const fieldsOf = (type: GraphQLObjectType, depth: number): string =>
    Object.values(type.getFields())
      .flatMap((field) => {
        const named = getNamedType(field.type)
        if (isLeafType(named)) return [field.name]
        return depth === 0
          ? []
          : [`${field.name} { __typename ${membersOf(named as GraphQLCompositeType, depth - 1)} }`]
      })
      .join(' ')
  const membersOf = (type: GraphQLCompositeType, depth: number): string =>
    isAbstractType(type)
      ? schema
          .getPossibleTypes(type)
          .map((member) => `... on ${member.name} { __typename ${fieldsOf(member, depth)} }`)
          .join(' ')
      : fieldsOf(type, depth)
  // What has an id is of many kinds, with fields of their own: nobody selects all of them in one document.
  const conflicts = types
    .filter(isAbstractType)
    .filter(({ name }) => name !== 'Node')
    .flatMap((type) => {
      const document = parse(`fragment All on ${type.name} { ${membersOf(type, 1)} }`)
      return validate(schema, document, [OverlappingFieldsCanBeMergedRule]).map(
        ({ message }) => `${type.name}: ${message}`,
      )
    })
  expect(conflicts).toEqual([])
})

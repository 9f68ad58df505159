/** GraphiQL and MCP clients show descriptions alone: each must make sense without its neighbours. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  buildSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
} from 'graphql'
import { expect, test } from 'vitest'
import { descriptionRules } from './description-rules.ts'

interface Described {
  /** A schema coordinate, such as `Query.tools(kind:)`. */
  at: string
  text: string
}

const schema = buildSchema(readFileSync(join(import.meta.dirname, '../../../docs/schema.graphql'), 'utf8'))

function everything(): Described[] {
  const found: Described[] = []
  const add = (at: string, { description }: { description?: string | null | undefined }) =>
    found.push({ at, text: description ?? '' })
  for (const type of Object.values(schema.getTypeMap())) {
    if (isIntrospectionType(type) || isSpecifiedScalarType(type)) continue
    add(type.name, type)
    if (isEnumType(type)) for (const value of type.getValues()) add(`${type.name}.${value.name}`, value)
    if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) continue
    for (const field of Object.values(type.getFields())) {
      add(`${type.name}.${field.name}`, field)
      if ('args' in field) for (const arg of field.args) add(`${type.name}.${field.name}(${arg.name}:)`, arg)
    }
  }
  return found
}

const descriptions = everything()

test.each(descriptionRules)('the rule "$fault" refuses and accepts its examples', (rule) => {
  expect(rule.refuses.length * rule.accepts.length).toBeGreaterThan(0)
  for (const text of rule.refuses) expect(rule.breaks(text), text).toBe(true)
  for (const text of rule.accepts) expect(rule.breaks(text), text).toBe(false)
})

test('types, fields, arguments, input fields and enum values are all read', () => {
  const coordinates = descriptions.map(({ at }) => at)
  expect(coordinates).toEqual(
    expect.arrayContaining([
      'Query',
      'ToolCall.status',
      'Query.tools(kind:)',
      'CreateToolInput.name',
      'ToolKind.HTTP',
    ]),
  )
  expect(coordinates.length).toBeGreaterThan(800)
})

/** The descriptions that break a rule, by what is wrong; the same text is listed once, with all its coordinates. */
function faults(): Record<string, string[]> {
  const found: Record<string, string[]> = {}
  for (const { fault, breaks } of descriptionRules) {
    const places = new Map<string, string[]>()
    for (const { at, text } of descriptions)
      if (breaks(text)) places.set(text, [...(places.get(text) ?? []), at])
    if (places.size > 0) found[fault] = [...places].map(([text, at]) => `${at.join(', ')}: "${text}"`)
  }
  return found
}

test('every description makes sense alone', () => {
  expect(faults()).toEqual({})
})

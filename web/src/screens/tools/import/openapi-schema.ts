/** Schemas of an OpenAPI document as JSON Schemas of their own: references are written out, within bounds. Pure. */
import { isObject } from '../../../../../src/core/exact-json.ts'
import type { Schema } from '../../../parts/schema-form-resolve.ts'
import { t } from '../../../texts/texts.tsx'

/** Why no tool can be made of an operation, as a sentence. */
export class Unusable extends Error {}

/** How deep references lead, and how many values one tool may have. */
const maxDepth = 100
const maxValues = 8000

/** Keywords of OpenAPI that JSON Schema does not have. */
const foreign = new Set(['example', 'xml', 'externalDocs', 'discriminator', 'nullable'])
/** Keywords whose value is data, not a schema. */
const data = new Set(['default', 'const', 'enum', 'examples', 'required', 'type'])
/** Keywords whose members are schemas by name. */
const byName = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'])

export interface Inliner {
  /** What a reference or anything else is, without references. Throws Unusable. */
  resolve(value: unknown): unknown
  /** A schema without references. Throws Unusable. */
  schema(value: unknown): Schema
}

/** Reads one operation; its bounds count for all of its schemas together. */
export function inlinerOf(root: Schema): Inliner {
  const budget = { left: maxValues }
  const spend = () => {
    if (budget.left-- <= 0)
      throw new Unusable(
        t('Its schemas have more than {count} values when written out.', {
          count: maxValues,
        }),
      )
  }
  const target = (value: unknown, trail: readonly string[]): { value: unknown; trail: readonly string[] } => {
    let now = value
    let seen = trail
    while (isObject(now) && typeof now['$ref'] === 'string') {
      const ref = now['$ref']
      if (seen.includes(ref))
        throw new Unusable(t('The schema {name} refers to itself.', { name: lastOf(ref) }))
      if (seen.length >= maxDepth)
        throw new Unusable(t('Its references lead more than {count} deep.', { count: maxDepth }))
      spend()
      const { $ref: _ref, ...beside } = now
      const found = targetOf(ref, root)
      seen = [...seen, ref]
      now = isObject(found) && Object.keys(beside).length > 0 ? { ...found, ...beside } : found
    }
    return { value: now, trail: seen }
  }
  const visit = (value: unknown, trail: readonly string[]): unknown => {
    spend()
    if (trail.length > maxDepth)
      throw new Unusable(t('Its schemas are more than {count} deep.', { count: maxDepth }))
    if (Array.isArray(value)) return value.map((one) => visit(one, trail))
    const found = target(value, trail)
    if (!isObject(found.value)) return found.value
    const members = Object.entries(found.value).flatMap(([name, one]): [string, unknown][] => {
      if (foreign.has(name) || name.startsWith('x-')) return []
      if (data.has(name)) return [[name, one]]
      if (byName.has(name) && isObject(one))
        return [
          [
            name,
            Object.fromEntries(
              Object.entries(one).map(([key, part]) => [key, visit(part, deeper(found.trail))]),
            ),
          ],
        ]
      return [[name, visit(one, deeper(found.trail))]]
    })
    return modern(Object.fromEntries(members), found.value['nullable'] === true)
  }
  return {
    resolve: (value) => target(value, []).value,
    schema: (value) => {
      const made = visit(value ?? {}, [])
      return isObject(made) ? made : {}
    },
  }
}

/** Counts a step without a reference, so that schemas which are deep in themselves have an end too. */
const deeper = (trail: readonly string[]): readonly string[] => [...trail, '']

/** What 3.0 says in its own way: nullable types, and limits that are exclusive. Read-only values are not sent. */
function modern(schema: Schema, isNullable: boolean): Schema {
  const made = { ...schema }
  for (const [flag, limit] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (made[flag] === true) {
      made[flag] = made[limit]
      delete made[limit]
    } else if (made[flag] === false) delete made[flag]
  }
  if (isNullable && typeof made['type'] === 'string') made['type'] = [made['type'], 'null']
  if (isNullable && Array.isArray(made['enum']) && !made['enum'].includes(null))
    made['enum'] = [...(made['enum'] as unknown[]), null]
  const { properties } = made
  if (!isObject(properties)) return made
  const dropped = Object.keys(properties).filter((name) => {
    const one = properties[name]
    return isObject(one) && one['readOnly'] === true
  })
  if (dropped.length === 0) return made
  made['properties'] = Object.fromEntries(
    Object.entries(properties).filter(([name]) => !dropped.includes(name)),
  )
  if (Array.isArray(made['required']))
    made['required'] = made['required'].filter((name) => !dropped.includes(name as string))
  return made
}

function targetOf(ref: string, root: Schema): unknown {
  if (!ref.startsWith('#'))
    throw new Unusable(
      t('It refers to another document, {ref}: put that into this one first.', {
        ref: ref.slice(0, 100),
      }),
    )
  if (!ref.startsWith('#/'))
    throw new Unusable(t('Its reference {ref} is no path in the document.', { ref: ref.slice(0, 100) }))
  let at: unknown = root
  for (const part of ref.slice(2).split('/')) {
    const name = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~')
    at = Array.isArray(at) ? at[Number(name)] : isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  }
  if (at === undefined)
    throw new Unusable(t('Its reference {ref} leads nowhere.', { ref: ref.slice(0, 100) }))
  return at
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

const lastOf = (ref: string) => ref.slice(ref.lastIndexOf('/') + 1).slice(0, 100)

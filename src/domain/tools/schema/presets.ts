/**
 * Evaluates a JSON Schema of arguments as far as the presets decide it. The rest is what the other arguments must
 * satisfy.
 */
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../../core/json.ts'
import { acceptsPresets, withoutPresets, type PresetScope } from './arguments.ts'
import { refOf, resolveRef } from '../../../core/schema-walk.ts'

/** `possible` is false when no arguments can satisfy the schema together with the presets. */
interface Fixed {
  schema: Json
  possible: boolean
}

interface Scope extends PresetScope {
  /** References followed so far that apply to the arguments themselves: a circular one adds nothing. */
  trail: string[]
}

/** One schema during evaluation: `more` are schemas that hold unconditionally. */
interface Draft {
  schema: JsonObject
  more: Json[]
  possible: boolean
}

/** References in the result still point into `root`. Returns a schema even when the presets contradict it. */
export function fixArguments(root: JsonObject, presets: JsonObject, projectId: string): JsonObject {
  return fixObject(root, { root, presets, projectId, trail: ['#'] }).schema
}

function fix(schema: Json, scope: Scope): Fixed {
  if (isJsonObject(schema)) return fixObject(schema, scope)
  return { schema, possible: schema !== false }
}

function fixObject(schema: JsonObject, scope: Scope): { schema: JsonObject; possible: boolean } {
  const { presets, root } = scope
  const draft: Draft = {
    schema: withoutPresets(schema, presets, root),
    more: [],
    possible: acceptsPresets(schema, scope),
  }
  for (const step of [fixCounts, fixDependents, fixLists, fixNot, fixCondition, fixRef]) step(draft, scope)
  const all = [...(Array.isArray(draft.schema['allOf']) ? draft.schema['allOf'] : []), ...draft.more]
  const effective = all.filter((item) => !isTrivial(item))
  if (effective.length > 0) draft.schema['allOf'] = effective
  else delete draft.schema['allOf']
  return draft
}

/** The presets count as properties too, and they are always present. */
function fixCounts(draft: Draft, { presets }: Scope): void {
  const fixed = Object.keys(presets).length
  const { minProperties: min, maxProperties: max } = draft.schema
  if (typeof min === 'number') draft.schema['minProperties'] = Math.max(0, min - fixed)
  if (typeof max !== 'number') return
  draft.schema['maxProperties'] = Math.max(0, max - fixed)
  draft.possible &&= max >= fixed
}

/** What depends on a preset always applies; a dependency on a preset is satisfied. */
function fixDependents(draft: Draft, scope: Scope): void {
  for (const keyword of ['dependentRequired', 'dependentSchemas', 'dependencies']) {
    const given = draft.schema[keyword]
    if (!isJsonObject(given)) continue
    const left: [string, Json][] = []
    for (const [name, dependent] of Object.entries(given)) {
      const names = Array.isArray(dependent) ? dependent.filter((need) => !isPreset(need, scope)) : null
      const fixed = names ? { schema: { required: names }, possible: true } : fix(dependent, scope)
      if (!isPreset(name, scope)) {
        if (names?.length !== 0) left.push([name, names ?? (fixed.possible ? fixed.schema : false)])
      } else {
        if (names?.length !== 0) draft.more.push(fixed.schema)
        draft.possible &&= fixed.possible
      }
    }
    if (left.length > 0) draft.schema[keyword] = Object.fromEntries(left)
    else delete draft.schema[keyword]
  }
}

function fixLists(draft: Draft, scope: Scope): void {
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
    const given = draft.schema[keyword]
    if (!Array.isArray(given)) continue
    const fixed = given.map((item) => fix(item, scope))
    const possible = fixed.filter((item) => item.possible)
    draft.possible &&= keyword === 'allOf' ? possible.length === fixed.length : possible.length > 0
    const kept = keyword === 'allOf' || possible.length === 0 ? fixed : possible
    draft.schema[keyword] = kept.map((item) => item.schema)
  }
}

function fixNot(draft: Draft, scope: Scope): void {
  if (draft.schema['not'] === undefined) return
  const fixed = fix(draft.schema['not'], scope)
  delete draft.schema['not']
  if (!fixed.possible) return
  if (isTrivial(fixed.schema)) draft.possible = false
  else draft.schema['not'] = fixed.schema
}

function fixCondition(draft: Draft, scope: Scope): void {
  const { if: condition, then: onTrue = true, else: onFalse = true } = draft.schema
  for (const keyword of ['if', 'then', 'else']) delete draft.schema[keyword]
  if (condition === undefined) return
  const when = fix(condition, scope)
  const [yes, no] = [fix(onTrue, scope), fix(onFalse, scope)]
  const decided = !when.possible ? no : isTrivial(when.schema) ? yes : null
  if (decided) {
    draft.more.push(decided.schema)
    draft.possible &&= decided.possible
    return
  }
  draft.schema['if'] = when.schema
  for (const [keyword, branch] of [
    ['then', yes],
    ['else', no],
  ] as const)
    draft.schema[keyword] = branch.possible ? branch.schema : false
}

/** A reference to a schema about presets is replaced by the evaluated schema; any other stays a reference. */
function fixRef(draft: Draft, scope: Scope): void {
  const found = refOf(draft.schema)
  const target = found && resolveRef(scope.root, found.ref)
  if (!found || target === undefined || target === null) return
  const inCircle = scope.trail.includes(found.ref)
  const fixed = inCircle ? null : fix(target, { ...scope, trail: [...scope.trail, found.ref] })
  if (fixed) {
    draft.possible &&= fixed.possible
    if (canonicalJson(fixed.schema) === canonicalJson(target)) return
  }
  delete draft.schema[found.keyword]
  if (!fixed) return
  // Model providers expect the object's keywords at the top level, so they go there when only annotations are beside
  // them.
  if (isJsonObject(fixed.schema) && Object.keys(draft.schema).every((key) => beside.has(key)))
    draft.schema = { ...fixed.schema, ...draft.schema }
  else draft.more.push(fixed.schema)
}

const annotations = [
  'title',
  'description',
  '$comment',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
]
const beside = new Set([...annotations, '$schema', '$id', '$defs', 'definitions'])

/** Whether every arguments object satisfies the schema; false also when that cannot be seen easily. */
function isTrivial(schema: Json): boolean {
  if (!isJsonObject(schema)) return schema === true
  return Object.entries(schema).every(([key, value]) => {
    if (beside.has(key) || value === true) return true
    if (key === 'type') return value === 'object' || (Array.isArray(value) && value.includes('object'))
    if (key === 'properties' || key === 'patternProperties')
      return isJsonObject(value) && Object.keys(value).length === 0
    if (key === 'required') return Array.isArray(value) && value.length === 0
    return key === 'minProperties' && value === 0
  })
}

function isPreset(name: Json, { presets }: Scope): boolean {
  return typeof name === 'string' && Object.hasOwn(presets, name)
}

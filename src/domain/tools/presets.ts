/**
 * Presets: fixed top-level arguments, hidden from models and clients; they always win over sent values. A schema is
 * evaluated as far as they decide it. Pure.
 */
import {
  canonicalJson,
  isJsonObject,
  type Json,
  type JsonObject,
  copyJson,
  hashJson,
} from '../../core/json.ts'
import { acceptsPresets, withoutPresets, type PresetScope, namesArgument } from './schema/arguments.ts'
import { refOf, resolveRef, weighSchema } from '../../core/schema-walk.ts'
import { runBoundedFor, createCooldown, type Cooldown } from '../../core/bounded.ts'
import { isOwnSchema, ownSchema } from '../../core/json-schema.ts'
import { selfContained } from '../../core/schema-refs.ts'

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
function fixArguments(root: JsonObject, presets: JsonObject, projectId: string): JsonObject {
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

/** Time limit for computing an untrusted schema, in milliseconds. */
const computeMs = 200

/** Schemas that exceeded the limit, by project and hash, each with its cooldown. */
const suspended = new Map<string, Cooldown>()
/** Below `fewPaths` reference paths a schema is computed without a time limit; above `maxPaths` not at all. */
const fewPaths = 100
const maxPaths = 100_000

/**
 * The schema that a model or client sees: what the full schema requires of the other arguments once the presets are
 * set. Names of presets do not occur in it as properties of the argument object; nested objects keep properties with
 * the same name. Branches that contradict the presets (a `const` with another value) are removed. The result is a new,
 * self-contained JSON Schema; without presets it is the given one. Null when it takes longer than 200 ms: nested
 * references can expand without a practical limit.
 */
export function hidePresets(schema: JsonObject, presets: JsonObject, projectId: string): JsonObject | null {
  if (Object.keys(presets).length === 0) return schema
  const paths = weighSchema(schema).rules
  const hide = () => selfContained(fixArguments(schema, presets, projectId), schema)
  const work = () => (isOwnSchema(schema) ? ownSchema(hide()) : hide())
  if (paths <= fewPaths) return work()
  if (paths > maxPaths && paths < Infinity) return null
  const name = hashJson([projectId, schema, presets])
  for (const [key, cooldown] of suspended) if (!cooldown.isActive()) suspended.delete(key)
  if (suspended.has(name)) return null
  const done = runBoundedFor(projectId, computeMs, work)
  if (done.ok) return done.value
  const cooldown = createCooldown()
  cooldown.start()
  suspended.set(name, cooldown)
  return null
}

/** The presets of a tool that apply to one of its actions: those whose key is a field of the action's input schema. */
export function presetsFor(schema: JsonObject, presets: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(presets).filter(([key]) => namesArgument(schema, key)))
}

/**
 * The arguments that run: a preset replaces what the caller sent under the same top-level key, as a whole (nested
 * values are not merged). `dropped` lists the keys that the caller sent in vain. Keys such as `__proto__` are ordinary
 * data: nothing is inherited and no prototype is changed.
 */
export function mergePresets(args: JsonObject, presets: JsonObject): { args: JsonObject; dropped: string[] } {
  const own = Object.entries(args)
  const merged: [string, Json][] = [
    ...own.filter(([key]) => !Object.hasOwn(presets, key)),
    ...Object.entries(copyJson(presets)),
  ]
  // Object.fromEntries defines own members, also for "__proto__"; an assignment would not.
  return {
    args: Object.fromEntries(merged),
    dropped: own.map(([key]) => key).filter((key) => Object.hasOwn(presets, key)),
  }
}

/** Presets: fixed top-level arguments, hidden from models and clients; they always win over sent values. Pure. */
import { boundedFor, createCooldown, type Cooldown } from '../../core/bounded.ts'
import { copyJson, hashJson, type Json, type JsonObject } from '../../core/json.ts'
import { isOwnSchema, ownSchema } from '../../core/json-schema.ts'
import { weighSchema } from '../../core/schema-weight.ts'
import { selfContained } from '../../core/schema-refs.ts'
import { namesArgument } from './schema/fields.ts'
import { fixArguments } from './schema/presets.ts'

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
  const done = boundedFor(projectId, computeMs, work)
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

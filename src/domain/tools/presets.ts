/** Presets: fixed top-level arguments, hidden from whoever calls and always ours. Pure. */
import type { Json, JsonObject } from '../../core/json.ts'
import { withHomes } from './schema-refs.ts'
import { namesArgument } from './schema-fields.ts'
import { fixArguments } from './schema-presets.ts'

/**
 * The schema that a model or client sees: what the full schema still asks of the other arguments once the presets are
 * in place. The names of the presets occur in it nowhere as a property of the argument object; objects further inside
 * that happen to have a property of that name keep it. A branch that the presets rule out (`const` of another kind) is
 * gone. The result is a new, self-contained JSON Schema; without presets it is the given one.
 */
export function hidePresets(schema: JsonObject, presets: JsonObject): JsonObject {
  if (Object.keys(presets).length === 0) return schema
  return withHomes(fixArguments(schema, presets), schema)
}

/** Those of a tool's presets that one of its actions takes: "a key matches a field in the action's input schema" (S4). */
export function presetsFor(schema: JsonObject, presets: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(presets).filter(([key]) => namesArgument(schema, key)))
}

/**
 * The arguments that will run: a preset replaces what the caller sent under the same top-level key, as a whole (nested
 * values are not merged into each other). `dropped` names the keys that the caller sent and that had no effect.
 * Keys such as `__proto__` are ordinary data here; nothing is inherited and no prototype is touched.
 */
export function mergePresets(args: JsonObject, presets: JsonObject): { args: JsonObject; dropped: string[] } {
  const own = Object.entries(args)
  const merged: [string, Json][] = [
    ...own.filter(([key]) => !Object.hasOwn(presets, key)),
    ...Object.entries(structuredClone(presets)),
  ]
  // Object.fromEntries defines own members, also for "__proto__"; an assignment would not.
  return {
    args: Object.fromEntries(merged),
    dropped: own.map(([key]) => key).filter((key) => Object.hasOwn(presets, key)),
  }
}

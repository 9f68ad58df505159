/** Presets: fixed top-level arguments, hidden from whoever calls and always ours. Pure. */
import { bounded } from '../../core/bounded.ts'
import { hashJson, type Json, type JsonObject } from '../../core/json.ts'
import { weighSchema } from '../../core/schema-weight.ts'
import { withHomes } from './schema-refs.ts'
import { namesArgument } from './schema-fields.ts'
import { fixArguments } from './schema-presets.ts'

/** The most that working out a stranger's schema may take, in milliseconds, and how long it rests when that was too little. */
const hideMs = 200
const restMs = 4000

/** Schemas whose working out was stopped, and when it may be tried again; so many, and no other that may fan out is tried. */
const resting = new Map<string, number>()
const mostResting = 3
/** Ways through the references of a schema that are worked out without watching, and the most that are at all. */
const fewWays = 100
const mostWays = 100_000

/**
 * The schema that a model or client sees: what the full schema still asks of the other arguments once the presets are
 * in place. The names of the presets occur in it nowhere as a property of the argument object; objects further inside
 * that happen to have a property of that name keep it. A branch that the presets rule out (`const` of another kind) is
 * gone. The result is a new, self-contained JSON Schema; without presets it is the given one. Null when it takes longer
 * than 200 ms to work out: references that fan out can mean more than could ever be written down.
 */
export function hidePresets(schema: JsonObject, presets: JsonObject): JsonObject | null {
  if (Object.keys(presets).length === 0) return schema
  const ways = weighSchema(schema).rules
  const work = () => withHomes(fixArguments(schema, presets), schema)
  if (ways <= fewWays) return work()
  if (ways > mostWays && ways < Infinity) return null
  const name = hashJson([schema, presets])
  for (const [stopped, until] of resting) if (performance.now() >= until) resting.delete(stopped)
  if (resting.has(name) || resting.size >= mostResting) return null
  const done = bounded(hideMs, work)
  if (done.ok) return done.value
  resting.set(name, performance.now() + restMs)
  return null
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

/** Presets: fixed top-level arguments, hidden from whoever calls and always ours. Pure. */
import { bounded, createCooldown, type Cooldown } from '../../core/bounded.ts'
import { hashJson, type Json, type JsonObject } from '../../core/json.ts'
import { weighSchema } from '../../core/schema-weight.ts'
import { withHomes } from './schema-refs.ts'
import { namesArgument } from './schema-fields.ts'
import { fixArguments } from './schema-presets.ts'

/** The time limit for hiding presets in an untrusted schema, in milliseconds. */
const hideMs = 200

/** Schemas for which that was stopped, by hash. While there are so many, no other schema that may fan out is tried. */
const stopped = new Map<string, Cooldown>()
const mostStopped = 3
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
  for (const [other, cooldown] of stopped) if (!cooldown.isActive()) stopped.delete(other)
  if (stopped.has(name) || stopped.size >= mostStopped) return null
  const done = bounded(hideMs, work)
  if (done.ok) return done.value
  const cooldown = createCooldown()
  cooldown.start()
  stopped.set(name, cooldown)
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

/** What counts of an action that is defined elsewhere, when a call of it is agreed to. A tool's own fields say it themselves. Pure. */
import { hashJson, type JsonObject } from '../../core/json.ts'
import { bareSchema } from '../../core/schema-walk.ts'
import { looseningHints } from '../upstream/index.ts'

/** What an upstream or the installation says about an action of a tool. */
export interface ActionFacts {
  name: string
  inputSchema: JsonObject
  outputSchema?: JsonObject | null
  annotations?: object | null
}

/** By action: an action and the catalog that it comes from never change. */
const hashes = new WeakMap<ActionFacts, string>()

/** A hash of what is judged in an action: its name, its schemas without annotations, and the hints that loosen a rule. */
export function judgedActionHash(action: ActionFacts): string {
  const hash = hashes.get(action) ?? hashJson(judgedParts(action))
  hashes.set(action, hash)
  return hash
}

function judgedParts({ name, inputSchema, outputSchema, annotations }: ActionFacts): JsonObject {
  return {
    name,
    inputSchema: bareSchema(inputSchema),
    outputSchema: outputSchema ? bareSchema(outputSchema) : null,
    annotations: hintsOf((annotations ?? {}) as JsonObject),
  }
}

/** The hints among annotations that loosen a rule. */
export function hintsOf(annotations: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.keys(looseningHints).flatMap((hint) =>
      annotations[hint] === undefined ? [] : [[hint, annotations[hint]!]],
    ),
  )
}

/**
 * What of a tool counts when a call of it is agreed to. Whatever is not named here counts: a field that is added later
 * is judged until somebody says that it need not be. Pure.
 */
import { hashJson, type JsonObject } from '../../core/json.ts'
import { bareSchema } from '../../core/schema-walk.ts'
import { looseningHints } from '../upstream/index.ts'
import type { ToolDefinition } from './tool.ts'

/** What an upstream or the installation says about an action of a tool. */
export interface ActionFacts {
  name: string
  inputSchema: JsonObject
  outputSchema?: JsonObject | null
  annotations?: object | null
}

/**
 * A hash of what is judged in a tool: its name, address with credentials, schemas, presets, gate and masks, and whether it
 * may be repeated or called directly. Titles, descriptions, other annotations and the time limit are not.
 */
export function judgedHashOf(definition: ToolDefinition): string {
  const { title: _title, description: _description, timeoutMs: _timeoutMs, ...judged } = definition
  // Versions of earlier releases lack what later ones write as null.
  const given = Object.entries(judged).filter(([, value]) => value !== null && value !== undefined)
  return hashJson({ ...Object.fromEntries(given), ...judgedParts(definition) } as JsonObject)
}

/** By action: an action and the catalog that it comes from never change. */
const hashes = new WeakMap<ActionFacts, string>()

/** The same hash of an action that is defined elsewhere. */
export function judgedActionHash(action: ActionFacts): string {
  const hash = hashes.get(action) ?? hashJson({ name: action.name, ...judgedParts(action) })
  hashes.set(action, hash)
  return hash
}

function judgedParts({ inputSchema, outputSchema, annotations }: Omit<ActionFacts, 'name'>): JsonObject {
  return {
    inputSchema: bareSchema(inputSchema),
    outputSchema: outputSchema ? bareSchema(outputSchema) : null,
    annotations: hintsOf((annotations ?? {}) as JsonObject),
  }
}

function hintsOf(annotations: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.keys(looseningHints).flatMap((hint) =>
      annotations[hint] === undefined ? [] : [[hint, annotations[hint]!]],
    ),
  )
}

/**
 * Names of arguments that a provider refuses, as a model sees them: mapped to legal ones in schemas and in the calls of the
 * history, and mapped back in its calls. A legal name stays. Pure.
 */
import { createHash } from 'node:crypto'
import { isJsonObject, writeJson, type Json, type JsonObject } from '../../../core/json.ts'
import { mapSchemas } from '../../../core/schema-walk.ts'
import type { ModelTool } from '../port.ts'
import { readCallInput } from '../message.ts'

/** The shown names of one tool's arguments, by their own. */
export type Names = ReadonlyMap<string, string>
/** By the name of the tool; only tools that have such arguments. */
export type Renames = ReadonlyMap<string, Names>

const legal = /^[a-zA-Z0-9_.-]{1,64}$/

/** A name that every provider accepts and that is not `taken`. */
function shownName(name: string, taken: ReadonlySet<string>): string {
  for (let salt = ''; ; salt += ' ') {
    const hash = createHash('sha256')
      .update(name + salt)
      .digest('hex')
      .slice(0, 8)
    const shown = `${name.replace(/[^a-zA-Z0-9_.-]/g, '_').slice(0, 55)}_${hash}`
    if (!taken.has(shown)) return shown
  }
}

/** What is shown under another name, of tools with arguments at any depth. */
export function renamesOf(tools: ModelTool[]): Renames {
  const found = tools.map(({ name, inputSchema }) => [name, shownNames(inputSchema)] as const)
  return new Map(found.filter(([, names]) => names.size > 0))
}

const known = new WeakMap<JsonObject, Names>()

/** The shown names of a schema's properties at any depth, by those that a provider refuses: each name has one of its own. */
export function shownNames(schema: JsonObject): Names {
  const before = known.get(schema)
  if (before) return before
  const all = new Set<string>()
  mapSchemas(schema, (one) => {
    if (isJsonObject(one['properties'])) for (const name of Object.keys(one['properties'])) all.add(name)
    return one
  })
  const names = new Map<string, string>()
  for (const name of [...all].filter((one) => !legal.test(one))) {
    const shown = shownName(name, all)
    names.set(name, shown)
    all.add(shown)
  }
  known.set(schema, names)
  return names
}

/** Arguments as the model sees them. */
export function shownArguments(args: JsonObject, names: Names | undefined): JsonObject {
  return names ? (renamed(args, names) as JsonObject) : args
}

/** The text of a call's arguments with their own names. A text that cannot be read stays. */
export function ownInput(text: string, names: Names | undefined): string {
  const args = names && readCallInput(text)
  if (!args) return text
  return writeJson(renamed(args, new Map([...names].map(([own, shown]) => [shown, own]))))
}

function renamed(value: Json, names: Names): Json {
  if (Array.isArray(value)) return value.map((one) => renamed(one, names))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [names.get(key) ?? key, renamed(one, names)]),
  )
}

/**
 * What is never shown: arguments that the schema marks with `writeOnly: true` or `format: "password"`, and parts of a
 * configuration. Pure.
 */
import { runBoundedFor } from '../../core/bounded.ts'
import {
  isJsonObject,
  type Json,
  type JsonObject,
  tryParseJson,
  valueAt,
  writeJson,
} from '../../core/json.ts'
import { mask, maskAt } from '../../core/scrub.ts'
import { mapSchemas, refOf, resolveRef } from '../../core/schema-walk.ts'
import type { OwnedDefinition, Tool } from './callable.ts'
import { hasActions, seenConfigs, type ToolConfigs } from './tool-kinds.ts'
import { allows, type Ctx } from '../access/index.ts'

/** The argument names that are masked: by name, and by pattern. `all`: every top-level argument. */
interface Marks {
  names: Set<string>
  patterns: RegExp[]
  all: boolean
}

/** The tool whose arguments may have to be masked. */
type Masking = Pick<OwnedDefinition, 'inputSchema' | 'agreedSchema' | 'projectId'>

const marksBySchema = new WeakMap<JsonObject, Marks>()

/**
 * The paths of arguments that must not be shown. An argument with the name of a marked property is masked at any depth:
 * it is safer to mask one value too many.
 */
export function maskedPaths({ inputSchema, agreedSchema, projectId }: Masking, args: Json): string[][] {
  const marks = marksSince(agreedSchema, inputSchema)
  return isUnmarked(marks) ? [] : pathsOf(args, marks, projectId)
}

/** Masks arguments that fit no schema; text that is not a JSON object or array is masked as a whole. */
export function maskedText({ inputSchema, agreedSchema, projectId }: Masking, text: string): string {
  const marks = marksSince(agreedSchema, inputSchema)
  if (isUnmarked(marks)) return text
  const value = tryParseJson(text)
  return typeof value === 'object' && value !== null
    ? writeJson(maskAt(value, pathsOf(value, marks, projectId)))
    : mask
}

/** Time limit for untrusted patterns, in milliseconds; when it is exceeded, everything is masked. */
const patternMs = 50

/** The values at these paths that exist. */
export function valuesAt(value: Json, paths: readonly string[][]): Json[] {
  return paths.flatMap((path) => {
    const at = valueAt(value, path)
    return at === undefined ? [] : [at]
  })
}

function pathsOf(value: Json, marks: Marks, projectId: string): string[][] {
  if (marks.patterns.length === 0) return markedIn(value, marks)
  const done = runBoundedFor(projectId, patternMs, () => markedIn(value, marks))
  return done.ok ? done.value : markedIn(value, { ...marks, patterns: [], all: true })
}

function markedIn(value: Json, marks: Marks): string[][] {
  const found: string[][] = []
  const stack: { value: Json; path: string[] }[] = [{ value, path: [] }]
  while (stack.length > 0) {
    const { value: here, path } = stack.pop()!
    if (typeof here !== 'object' || here === null) continue
    for (const [key, item] of Object.entries(here)) {
      const place = [...path, key]
      if (!Array.isArray(here) && isMarkedName(key, marks, path)) found.push(place)
      else stack.push({ value: item, path: place })
    }
  }
  return found
}

function isMarkedName(key: string, { names, patterns, all }: Marks, path: string[]): boolean {
  return (all && path.length === 0) || names.has(key) || patterns.some((pattern) => pattern.test(key))
}

function isUnmarked({ names, patterns, all }: Marks): boolean {
  return names.size === 0 && patterns.length === 0 && !all
}

/**
 * The marks of both schemas: what was marked stays so. When a marked property is gone, its value may go under any name that
 * was not there before.
 */
function marksSince(agreed: JsonObject | undefined, now: JsonObject): Marks {
  const marks = marksOf(now)
  if (!agreed) return marks
  const before = marksOf(agreed)
  const [known, named] = [propertiesOf(agreed), propertiesOf(now)]
  const isLost = [...before.names].some((name) => !named.has(name))
  const added = isLost ? [...named].filter((name) => !known.has(name)) : []
  return {
    names: new Set([...before.names, ...marks.names, ...added]),
    patterns: [...before.patterns, ...marks.patterns],
    all: before.all || marks.all,
  }
}

/** The names of all properties, anywhere in the schema. */
function propertiesOf(schema: JsonObject): Set<string> {
  const names = new Set<string>()
  mapSchemas(schema, (one) => {
    for (const [name] of schemasIn(one, 'properties')) names.add(name)
    return one
  })
  return names
}

/** The names of all properties, anywhere in the schema, whose own schema is marked. */
function marksOf(schema: JsonObject): Marks {
  const known = marksBySchema.get(schema)
  if (known) return known
  const marks: Marks = { names: new Set(), patterns: [], all: isMarked(schema, schema) }
  const stack: Json[] = [schema]
  while (stack.length > 0) {
    const here = stack.pop()!
    if (typeof here !== 'object' || here === null) continue
    for (const [name, property] of schemasIn(here, 'properties'))
      if (isMarked(property, schema)) marks.names.add(name)
    for (const [pattern, property] of schemasIn(here, 'patternProperties'))
      if (isMarked(property, schema)) marks.patterns.push(new RegExp(pattern, 'u'))
    stack.push(...Object.values(here))
  }
  marksBySchema.set(schema, marks)
  return marks
}

function schemasIn(schema: Json, keyword: string): [string, Json][] {
  const found = isJsonObject(schema) ? schema[keyword] : undefined
  return isJsonObject(found) ? Object.entries(found) : []
}

/**
 * Keywords whose schemas apply to the value itself, or to unnamed parts of it; also `not`, which says nothing about what may be
 * shown, and `propertyNames`: a mark is honoured wherever it stands.
 */
const transparent =
  'allOf anyOf oneOf if then else items prefixItems additionalItems unevaluatedItems contains additionalProperties unevaluatedProperties not propertyNames contentSchema'.split(
    ' ',
  )

function isMarked(property: Json, root: JsonObject): boolean {
  const seen = new Set<Json>()
  const stack: (Json | undefined)[] = [property]
  while (stack.length > 0) {
    const here = stack.pop()
    if (Array.isArray(here)) stack.push(...here)
    if (!isJsonObject(here) || seen.has(here)) continue
    seen.add(here)
    if (here['writeOnly'] === true || here['format'] === 'password') return true
    const found = refOf(here)
    if (found) stack.push(resolveRef(root, found.ref))
    for (const keyword of transparent) stack.push(here[keyword])
  }
  return false
}

/**
 * Fixed values (presets, literal headers) for this caller: without `tools:Update` on the tool their names only, with
 * the values masked, because they often contain what users of the tool must not know.
 */
export function shownValues(ctx: Ctx, tool: Tool, values: JsonObject): JsonObject {
  if (allows(ctx.principal.policy, 'tools:Update', `tool/${tool.id}`)) return values
  return Object.fromEntries(Object.keys(values).map((name) => [name, mask]))
}

/** What this caller sees of the config of the tool, under the name of its kind. */
export function shownConfigs(ctx: Ctx, tool: Tool): ToolConfigs {
  const masking = {
    values: (own: JsonObject) => shownValues(ctx, tool, own),
    schema: (own: JsonObject) => own,
  }
  return seenConfigs(tool, masking)
}

/**
 * The schema of the arguments as the tool was saved with it, presets included: null for this caller without
 * `tools:Update` on the tool, and for tools whose actions have schemas of their own.
 */
export function shownFullSchema(ctx: Ctx, tool: Tool): JsonObject | null {
  if (hasActions(tool.kind)) return null
  return allows(ctx.principal.policy, 'tools:Update', `tool/${tool.id}`) ? tool.inputSchema : null
}

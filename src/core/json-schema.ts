/** JSON Schema: compiled once, cached, checked within bounds, and faults told as paths and rules without echoing values. */
import type { ErrorObject, ValidateFunction } from 'ajv'
import { bounded, boundedTogether } from './bounded.ts'
import type { Issue } from './errors.ts'
import { canonicalJson, isJsonObject, jsonTooBig, type JsonObject } from './json.ts'
import { compilerFor, type Compiler } from './schema-compiler.ts'
import { weighSchema, weighValue, type SchemaWeight } from './schema-weight.ts'

/**
 * A schema that is larger, deeper or has more objects in it is refused at save. The objects are what compiling costs time
 * for, up to a third of a millisecond each.
 */
export const schemaLimits = { maxBytes: 128 * 1024, maxDepth: 40, maxObjects: 1000 }

const cacheSize = 2000

/** Work that needs no watching: so many rules of a schema times parts of a value take a few milliseconds at most. */
const directWork = 200_000
/** The most that a schema may take to compile and a value to be checked, tried twice; milliseconds of the event loop. */
const compileMs = 150
const checkMs = 100
/** After work that was stopped the schema rests, so that it gets a twentieth of the event loop at most. */
const restMs = 4000

/** `validate` answers at most 20 issues; none when the value fits. It never takes longer than 200 ms. */
export type SchemaCheck = { ok: true; validate: (value: unknown) => Issue[] } | { ok: false; issue: Issue }

/** Insertion-ordered, so the first key is the one unused for longest. `until` is when a verdict is no longer kept. */
const cache = new Map<string, { check: SchemaCheck; until: number }>()

/**
 * Compiles a schema (draft 2020-12 unless `$schema` names 2019-09, 07 or 06) or says where it is wrong.
 * Equal schemas are compiled once per process. Only local references are followed; nothing is ever fetched.
 * `path` leads the path of a fault in the schema itself. Takes 250 ms at most, whatever the schema is.
 */
export function compileSchema(schema: unknown, path: string[] = []): SchemaCheck {
  const tooBig = jsonTooBig(schema, schemaLimits)
  if (tooBig) return { ok: false, issue: { path, message: tooBig } }
  const key = canonicalJson(schema)
  const known = cache.get(key)
  cache.delete(key)
  const kept = known && performance.now() < known.until ? known : compile(schema)
  cache.set(key, kept)
  if (cache.size > cacheSize) cache.delete(cache.keys().next().value!)
  const { check } = kept
  return check.ok ? check : { ok: false, issue: { ...check.issue, path: [...path, ...check.issue.path] } }
}

function compile(schema: unknown): { check: SchemaCheck; until: number } {
  const verdict = (check: SchemaCheck, until = Infinity) => ({ check, until })
  const fault = (path: string[], message: string) => verdict({ ok: false, issue: { path, message } })
  if (!isJsonObject(schema)) return fault([], 'must be a JSON Schema object')
  const remote = findRemoteRef(schema)
  if (remote)
    return fault(remote, 'must be a reference inside this schema ("#/…"); remote schemas are never fetched')
  const declared = typeof schema['$schema'] === 'string' ? schema['$schema'] : 'draft/2020-12'
  const compiler = compilerFor(declared)
  if (!compiler)
    return fault(
      ['$schema'],
      'names a draft that is not supported; use 2020-12, 2019-09, draft-07 or draft-06',
    )
  const plain: JsonObject = { ...schema }
  delete plain['$schema']
  try {
    const done = bounded(compileMs, () => {
      const error = compiler.fault(plain)
      return error ? { error } : { all: compiler.compile(plain, true) }
    })
    if (!done.ok) {
      const message = `takes longer than ${compileMs} ms to compile; make it smaller`
      return verdict({ ok: false, issue: { path: [], message } }, performance.now() + restMs)
    }
    const { error, all } = done.value
    if (error) return fault(pointerToPath(error.instancePath), error.message ?? 'is not a valid JSON Schema')
    return verdict({ ok: true, validate: checker(compiler, plain, all!) })
  } catch (error) {
    return fault([], `does not compile: ${(error as Error).message.slice(0, 200)}`)
  }
}

/**
 * Small work is done at once. What may be more is stopped when it takes too long, and tells the first issue only: a
 * million issues are a million objects.
 */
function checker(compiler: Compiler, schema: JsonObject, all: ValidateFunction): (value: unknown) => Issue[] {
  const weight = weighSchema(schema)
  let first: ValidateFunction | undefined
  let restsUntil = 0
  return (value) => {
    const small = isSmall(weight, value)
    if (small && !weight.patterns) return run(all, value)
    if (performance.now() < restsUntil) return [tooCostly]
    const work = () => run(small ? all : (first ??= compiler.compile(schema, false)), value)
    // A process that was frozen meanwhile has used up the time without working.
    for (let tries = 0; tries < 2; tries++) {
      const done = boundedTogether(checkMs, work)
      if (done.ok) return done.value
    }
    restsUntil = performance.now() + restMs
    return [tooCostly]
  }
}

const tooCostly: Issue = {
  path: [],
  message: 'takes too long to be checked against its schema; send less, or make the schema simpler',
}

function isSmall(weight: SchemaWeight, value: unknown): boolean {
  const most = directWork / weight.rules
  return weighValue(value, most) <= most
}

function run(validate: ValidateFunction, value: unknown): Issue[] {
  try {
    if (validate(value)) return []
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return [{ path: [], message: 'cannot be checked against its schema, which refers to itself without end' }]
  }
  return (validate.errors ?? []).slice(0, 20).map(issueOf)
}

/** The rule that failed and where, never the value that failed it. */
function issueOf(error: ErrorObject): Issue {
  const path = pointerToPath(error.instancePath)
  const params = error.params as Record<string, unknown>
  if (error.keyword === 'required')
    return { path: [...path, String(params['missingProperty'])], message: 'is required' }
  if (error.keyword === 'additionalProperties' || error.keyword === 'unevaluatedProperties') {
    const name = String(params['additionalProperty'] ?? params['unevaluatedProperty'])
    return { path: [...path, name.slice(0, 80)], message: 'is not a known property' }
  }
  if (error.keyword === 'enum')
    return { path, message: `must be one of ${JSON.stringify(params['allowedValues']).slice(0, 300)}` }
  return { path, message: error.message ?? `fails the rule "${error.keyword}"` }
}

function pointerToPath(pointer: string): string[] {
  if (pointer === '') return []
  return pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function findRemoteRef(schema: JsonObject): string[] | null {
  const stack: { value: unknown; path: string[] }[] = [{ value: schema, path: [] }]
  while (stack.length > 0) {
    const { value, path } = stack.pop()!
    if (Array.isArray(value))
      value.forEach((item, i) => stack.push({ value: item, path: [...path, String(i)] }))
    if (!isJsonObject(value)) continue
    for (const [key, item] of Object.entries(value)) {
      if ((key === '$ref' || key === '$dynamicRef') && typeof item === 'string' && !item.startsWith('#'))
        return [...path, key]
      stack.push({ value: item, path: [...path, key] })
    }
  }
  return null
}

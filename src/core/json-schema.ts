/**
 * Compiles JSON Schemas once, caches them and validates within time limits. Issues name paths and rules, never values.
 */
import { shortText } from './text.ts'
import { judgingExactly, roundNumbers } from './exact-schema.ts'
import { BoundedMap, runBoundedFor, createCooldown, type Cooldown } from './bounded.ts'
import type { ErrorObject, ValidateFunction } from 'ajv'
import type { Issue } from './errors.ts'
import {
  canonicalJson,
  hasExactNumbers,
  isJsonObject,
  type JsonObject,
  jsonTooBig,
  writeJson,
} from './json.ts'
import { localRefs } from './schema-refs.ts'
import { compilerFor, type Compiler } from './schema-compiler.ts'
import { weighSchema, weighValue, type SchemaWeight } from './schema-walk.ts'

/**
 * A schema above these limits is refused when it is saved. Compiling takes up to a third of a millisecond for each
 * object.
 */
export const schemaLimits = { maxBytes: 128 * 1024, maxDepth: 40, maxObjects: 1000 }

const cacheSize = 2000

/** Rules of a schema times parts of a value that are validated without a time limit: a few milliseconds at most. */
const directWork = 200_000
/**
 * A schema with at most this many rules and no regular expression is compiled without a time limit: a slow or busy machine
 * must not refuse what another one takes. A rule takes up to an eighth of a millisecond.
 */
const quickRules = 1000
/** Time limits for compiling a schema and for validating a value, in milliseconds of CPU time. See `bounded`. */
const compileMs = 150
const checkMs = 100

/**
 * Whether a value fits a schema. CANNOT_TELL: judging was stopped, or the schema has a fault. Whoever decides by it takes
 * CANNOT_TELL as the answer that stops more. At most 20 issues.
 */
export type Judgement = { fits: 'YES' } | { fits: 'NO' | 'CANNOT_TELL'; issues: Issue[] }

/** `judge` is stopped after 100 ms. */
export type SchemaCheck = { ok: true; judge: (value: unknown) => Judgement } | { ok: false; issue: Issue }

interface Compiled {
  check: SchemaCheck
  /** Set when compiling was stopped: it is tried again after the cooldown. Null: the result is final. */
  stopped: Cooldown | null
}

const cache = new BoundedMap<string, Compiled>(cacheSize)

/**
 * Compiles a schema (draft 2020-12 unless `$schema` names 2019-09, 07 or 06), or returns the first fault in it. Equal
 * schemas of one project are compiled once per process. Only local references are followed; nothing is ever fetched.
 * `path` is put before the path of a fault in the schema itself. Compiling a schema that is not small is stopped after
 * 150 ms of CPU time; then the schema is refused for four seconds without another try. `projectId` is whose budget the
 * work uses: what one project does never makes another's work stop earlier.
 */
export function compileSchema(schema: unknown, projectId: string, path: string[] = []): SchemaCheck {
  const tooBig = jsonTooBig(schema, schemaLimits)
  if (tooBig) return { ok: false, issue: { path, message: tooBig } }
  const key = `${projectId} ${canonicalJson(schema)}`
  const known = cache.get(key)
  const kept = known && (known.stopped?.isActive() ?? true) ? known : compile(schema, projectId)
  cache.set(key, kept)
  const { check } = kept
  return check.ok ? check : { ok: false, issue: { ...check.issue, path: [...path, ...check.issue.path] } }
}

/** Schemas of ours: they are compiled without a limit, so that a busy machine never refuses them. */
const ours = new WeakSet<JsonObject>()

/** Marks a schema that this program wrote, or that it made of one. Returns the schema. */
export function ownSchema(schema: JsonObject): JsonObject {
  ours.add(schema)
  return schema
}

export function isOwnSchema(schema: JsonObject): boolean {
  return ours.has(schema)
}

/** Whether the value fits the schema. See `compileSchema` and `Judgement`. */
export function judge(schema: unknown, projectId: string, value: unknown): Judgement {
  const compiled = compileSchema(schema, projectId)
  return compiled.ok ? compiled.judge(value) : { fits: 'CANNOT_TELL', issues: [compiled.issue] }
}

/** Why the value is not known to fit the schema: no issue only when it certainly fits. For all that refuse in doubt. */
export function issuesIn(schema: unknown, projectId: string, value: unknown): Issue[] {
  const judged = judge(schema, projectId, value)
  return judged.fits === 'YES' ? [] : judged.issues
}

function compile(schema: unknown, projectId: string): Compiled {
  const fault = (path: string[], message: string, stopped: Cooldown | null = null): Compiled => ({
    check: { ok: false, issue: { path, message } },
    stopped,
  })
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
    const local = withLocalRefs(plain)
    const weight = weighSchema(local)
    const near = (one: JsonObject) => (hasExactNumbers(one) ? (roundNumbers(one).value as JsonObject) : one)
    const work = () => {
      const error = compiler.fault(near(plain))
      return error ? { error } : { all: compiler.compile(near(local), true) }
    }
    const done =
      isQuick(weight) || ours.has(schema)
        ? { ok: true as const, value: work() }
        : runBoundedFor(projectId, compileMs, work)
    if (!done.ok) {
      const cooldown = createCooldown()
      cooldown.start()
      return fault([], `takes longer than ${compileMs} ms to compile; make it smaller`, cooldown)
    }
    const { error, all } = done.value
    if (error) return fault(pointerToPath(error.instancePath), error.message ?? 'is not a valid JSON Schema')
    const judges = { compiler, schema: local, weight, all: all!, projectId }
    const check = { ok: true as const, judge: judgeOf(judges, hasExactNumbers(local)) }
    return { check, stopped: null }
  } catch (error) {
    return fault([], `does not compile: ${shortText((error as Error).message, 200)}`)
  }
}

/** The compiler follows dynamic references and addresses inside only in part. One that cannot be written otherwise is left to it. */
function withLocalRefs(schema: JsonObject): JsonObject {
  let isWhole = true
  const local = localRefs(schema, (_before, now) => {
    isWhole &&= now !== undefined
  })
  return isWhole ? local : schema
}

/** Whether compiling takes an eighth of a second at most, so that a busy machine must not be taken for a bad schema. */
function isQuick({ rules, patterns }: SchemaWeight): boolean {
  return rules <= quickRules && !patterns
}

interface Judges {
  compiler: Compiler
  schema: JsonObject
  weight: SchemaWeight
  all: ValidateFunction
  projectId: string
}

/**
 * Small work runs directly and reports every issue. Larger work has a time limit and reports only the first issue,
 * because a million issues are a million objects. Numbers that no double has are judged by their digits.
 */
function judgeOf(
  { compiler, schema, weight, all, projectId }: Judges,
  isExact: boolean,
): (value: unknown) => Judgement {
  let first: ValidateFunction | undefined
  let exact: ValidateFunction | undefined
  const compiledFirst = () => (first ??= compiler.compile(schema, false))
  const compiledExactly = () => (exact ??= compiler.compileExactly(roundNumbers(schema)))
  const cooldown = createCooldown()
  /** The time limit is the value's: a schema that compiles quickly is compiled before, as in `compile`. */
  const within = (compiled: () => ValidateFunction, work: () => Judgement): Judgement => {
    if (cooldown.isActive()) return tooCostly
    if (isQuick(weight)) compiled()
    const done = runBoundedFor(projectId, checkMs, work)
    if (done.ok) return done.value
    cooldown.start()
    return tooCostly
  }
  return (value) => {
    if (isExact || hasExactNumbers(value))
      return within(compiledExactly, () => {
        const near = roundNumbers(value)
        return judgingExactly(near, () => run(compiledExactly(), near.value))
      })
    const small = isSmall(weight, value)
    if (small && !weight.patterns) return run(all, value)
    const compiled = small ? () => all : compiledFirst
    return within(compiled, () => run(compiled(), value))
  }
}

const cannotTell = (message: string): Judgement => ({ fits: 'CANNOT_TELL', issues: [{ path: [], message }] })

const tooCostly = cannotTell(
  'takes too long to be checked against its schema; send less, or make the schema simpler',
)

function isSmall(weight: SchemaWeight, value: unknown): boolean {
  const most = directWork / weight.rules
  return weighValue(value, most) <= most
}

function run(validate: ValidateFunction, value: unknown): Judgement {
  try {
    if (validate(value)) return { fits: 'YES' }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return cannotTell('cannot be checked against its schema, which refers to itself without end')
  }
  return { fits: 'NO', issues: (validate.errors ?? []).slice(0, 20).map(issueOf) }
}

/** The rule that failed and its path, never the value. */
function issueOf(error: ErrorObject): Issue {
  const path = pointerToPath(error.instancePath)
  const params = error.params as Record<string, unknown>
  if (error.keyword === 'required')
    return { path: [...path, String(params['missingProperty'])], message: 'is required' }
  if (error.keyword === 'additionalProperties' || error.keyword === 'unevaluatedProperties') {
    const name = String(params['additionalProperty'] ?? params['unevaluatedProperty'])
    return { path: [...path, shortText(name, 80)], message: 'is not a known property' }
  }
  if (error.keyword === 'enum' && params['allowedValues'] !== undefined)
    return { path, message: `must be one of ${shortText(writeJson(params['allowedValues']), 300)}` }
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

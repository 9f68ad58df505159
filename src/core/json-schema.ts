/** JSON Schema: compiled once, cached, and faults told as paths and rules without echoing values. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import type { Issue } from './errors.ts'
import { canonicalJson, isJsonObject, jsonTooBig, type JsonObject } from './json.ts'

/** A schema larger or deeper than this is refused at save. */
export const schemaLimits = { maxBytes: 128 * 1024, maxDepth: 40 }

const cacheSize = 2000

export type SchemaCheck = { ok: true; validate: (value: unknown) => Issue[] } | { ok: false; issue: Issue }

const options = {
  strict: false,
  allErrors: true,
  allowUnionTypes: true,
  validateFormats: true,
  // Else an inherited name such as "constructor" counts as present.
  ownProperties: true,
  addUsedSchema: false,
  logger: false,
} as const

const compilers = [
  { match: /draft-?0[67]/, ajv: () => new Ajv(options) },
  { match: /2019-09/, ajv: () => new Ajv2019(options) },
  { match: /2020-12/, ajv: () => new Ajv2020(options) },
]

/** Insertion-ordered, so the first key is the one unused for longest. */
const cache = new Map<string, SchemaCheck>()

/**
 * Compiles a schema (draft 2020-12 unless `$schema` names 2019-09, 07 or 06) or says where it is wrong.
 * Equal schemas are compiled once per process. Only local references are followed; nothing is ever fetched.
 * `path` leads the path of a fault in the schema itself.
 */
export function compileSchema(schema: unknown, path: string[] = []): SchemaCheck {
  const tooBig = jsonTooBig(schema, schemaLimits)
  if (tooBig) return { ok: false, issue: { path, message: tooBig } }
  const key = canonicalJson(schema)
  const known = cache.get(key)
  if (known) {
    cache.delete(key)
    cache.set(key, known)
    return known.ok ? known : withPath(known, path)
  }
  const made = compile(schema)
  cache.set(key, made)
  if (cache.size > cacheSize) cache.delete(cache.keys().next().value!)
  return made.ok ? made : withPath(made, path)
}

function withPath(check: { ok: false; issue: Issue }, path: string[]): SchemaCheck {
  return { ok: false, issue: { ...check.issue, path: [...path, ...check.issue.path] } }
}

function compile(schema: unknown): SchemaCheck {
  const fault = (path: string[], message: string): SchemaCheck => ({ ok: false, issue: { path, message } })
  if (!isJsonObject(schema)) return fault([], 'must be a JSON Schema object')
  const remote = findRemoteRef(schema)
  if (remote)
    return fault(remote, 'must be a reference inside this schema ("#/…"); remote schemas are never fetched')
  const declared = typeof schema['$schema'] === 'string' ? schema['$schema'] : 'draft/2020-12'
  const compiler = compilers.find((c) => c.match.test(declared))
  if (!compiler)
    return fault(
      ['$schema'],
      'names a draft that is not supported; use 2020-12, 2019-09, draft-07 or draft-06',
    )
  // One instance for each schema: an "$id" of one tool must never resolve a "$ref" of another.
  const ajv = compiler.ajv()
  addFormats.default(ajv)
  const plain: JsonObject = { ...schema }
  delete plain['$schema']
  if (!ajv.validateSchema(plain)) {
    const [error] = ajv.errors ?? []
    return fault(pointerToPath(error?.instancePath ?? ''), error?.message ?? 'is not a valid JSON Schema')
  }
  try {
    const validate = ajv.compile(plain)
    return { ok: true, validate: (value) => run(validate, value) }
  } catch (error) {
    return fault([], `does not compile: ${(error as Error).message.slice(0, 200)}`)
  }
}

function run(validate: ValidateFunction, value: unknown): Issue[] {
  if (validate(value)) return []
  const issues = (validate.errors ?? []).map(issueOf)
  return issues.slice(0, 20)
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

/**
 * What a value lacks by its schema, found in the page while somebody types. Hints only: the server decides. Patterns are
 * left to it, because a stranger's pattern can take minutes.
 */
import { Validator, type OutputUnit, type Schema as Checked } from '@cfworker/json-schema'
import { isObject, writeJson } from '../../../src/core/exact-json.ts'
import type { Schema } from './schema-form-resolve.ts'
import { t } from '../texts/texts.tsx'

export interface Hint {
  path: readonly string[]
  message: string
}

/** The most schemas within a schema, references followed, for which hints are made. */
const maxSchemas = 5_000

/** Keywords whose faults repeat those of what is inside them. */
const wrappers = new Set([
  'properties',
  'additionalProperties',
  'items',
  'prefixItems',
  '$ref',
  'allOf',
  'then',
  'else',
])

/** Makes the check of a schema. It finds nothing where the schema is too large or cannot be read. */
export function makeHints(schema: Schema): (value: unknown) => Hint[] {
  if (sizeOf(schema) > maxSchemas) return () => []
  let validator: Validator
  try {
    validator = new Validator(withoutPatterns(schema) as Checked, '2020-12', false)
  } catch {
    return () => []
  }
  return (value) => {
    try {
      return hintsFrom(validator.validate(value).errors)
    } catch {
      return []
    }
  }
}

function hintsFrom(errors: readonly OutputUnit[]): Hint[] {
  const found = new Map<string, Hint>()
  for (const { keyword, instanceLocation, error } of ofBestBranches(errors)) {
    if (wrappers.has(keyword)) continue
    const path = pathOf(instanceLocation)
    const missing = keyword === 'required' ? /property "(.*)"/s.exec(error)?.[1] : undefined
    const hint =
      missing === undefined
        ? { path, message: wordsFor(keyword, error) }
        : { path: [...path, missing], message: t('is required') }
    const key = writeJson(hint.path)
    // A member with a fault of its own also counts as one that the schema does not name: that is no news.
    const isEcho =
      keyword === 'false' && [...found.keys()].some((other) => other.startsWith(key.slice(0, -1)))
    if (!found.has(key) && !isEcho) found.set(key, hint)
  }
  return [...found.values()]
}

const branch = /^(.*?\/(?:oneOf|anyOf))(?:\/(\d+))?(?=\/|$)/

/** The errors without those of branches that were hardly meant: of each choice, the branch with the fewest remains. */
function ofBestBranches(errors: readonly OutputUnit[], from = 0): OutputUnit[] {
  const choices = new Map<string, Map<string, OutputUnit[]>>()
  const others: OutputUnit[] = []
  for (const error of errors) {
    const found = branch.exec(error.keywordLocation.slice(from))
    if (!found) {
      others.push(error)
      continue
    }
    const branches = choices.get(found[1]!) ?? new Map<string, OutputUnit[]>()
    choices.set(found[1]!, branches)
    const own = found[2] ?? ''
    branches.set(own, [...(branches.get(own) ?? []), error])
  }
  for (const [place, branches] of choices) {
    const [best] = [...branches.keys()]
      .filter((own) => own !== '')
      .toSorted((a, b) => weightOf(branches.get(a)!) - weightOf(branches.get(b)!))
    if (best === undefined) others.push(...(branches.get('') ?? []))
    else others.push(...ofBestBranches(branches.get(best)!, from + place.length + best.length + 1))
  }
  return others
}

/** Errors of another type or constant say that another branch was meant. */
const weightOf = (errors: readonly OutputUnit[]): number =>
  errors.reduce(
    (sum, { keyword }) => sum + (['const', 'type', 'enum', 'false'].includes(keyword) ? 100 : 1),
    0,
  )

type Found = readonly [one: string, other: string]
/** What the validator says of a keyword, and the same as a text of the page. */
const sayings: Record<string, [RegExp, ([one, other]: Found) => string]> = {
  type: [/Expected (.*)$/s, ([type]) => t('must be of type {type}', { type })],
  format: [/format "(.*)"\.$/s, ([format]) => t('must be of the format {format}', { format })],
  const: [/match (.*)\.$/s, ([value]) => t('does not match {value}.', { value })],
  enum: [/any of (.*)\.$/s, ([values]) => t('does not match any of {values}.', { values })],
  minLength: [
    /\((\d+) < (\d+)\)/,
    ([length, least]) => t('String is too short ({length} < {least}).', { length, least }),
  ],
  maxLength: [
    /\((\d+) > (\d+)\)/,
    ([length, most]) => t('String is too long ({length} > {most}).', { length, most }),
  ],
  minItems: [
    /\((\d+) < (\d+)\)/,
    ([count, least]) => t('Array has too few items ({count} < {least}).', { count, least }),
  ],
  maxItems: [
    /\((\d+) > (\d+)\)/,
    ([count, most]) => t('Array has too many items ({count} > {most}).', { count, most }),
  ],
  minimum: [
    /^(\S+) is less than (\S+)\.$/,
    ([value, least]) => t('{value} is less than {least}.', { value, least }),
  ],
  maximum: [
    /^(\S+) is greater than (\S+)\.$/,
    ([value, most]) => t('{value} is greater than {most}.', { value, most }),
  ],
  multipleOf: [
    /^(\S+) is not a multiple of (\S+)\.$/,
    ([value, part]) => t('{value} is not a multiple of {part}.', { value, part }),
  ],
}

/** Keywords that are seldom broken keep the words of the validator. */
function wordsFor(keyword: string, error: string): string {
  if (keyword === 'oneOf' || keyword === 'anyOf') return t('matches none of the choices, or several')
  if (keyword === 'false') return t('is not allowed')
  const saying = Object.hasOwn(sayings, keyword) ? sayings[keyword] : undefined
  const [, one, other = ''] = saying?.[0].exec(error) ?? []
  return saying && one !== undefined ? saying[1]([one, other]) : error.replace(/^Instance /, '')
}

const pathOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'))

/** The number of schemas within a schema, references followed; a reference within itself is followed once. */
function sizeOf(root: Schema): number {
  let size = 0
  const visit = (value: unknown, seen: readonly string[]): void => {
    if (size > maxSchemas || typeof value !== 'object' || value === null) return
    size++
    const { $ref } = value as Schema
    if (typeof $ref === 'string' && $ref.startsWith('#/') && !seen.includes($ref)) {
      const names = $ref.slice(2).split('/')
      const target = names.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), root)
      visit(target, [...seen, $ref])
    }
    for (const part of Object.values(value)) visit(part, seen)
  }
  visit(root, [])
  return size
}

/** The schema without patterns; names that only a pattern allows are allowed then. */
function withoutPatterns(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPatterns)
  if (!isObject(value)) return value
  const hasPatterns = isObject(value['patternProperties'])
  const left = Object.entries(value).filter(
    ([name, inner]) =>
      !(name === 'pattern' && typeof inner === 'string') &&
      !(hasPatterns && (name === 'patternProperties' || name === 'additionalProperties')),
  )
  return Object.fromEntries(left.map(([name, inner]) => [name, withoutPatterns(inner)]))
}

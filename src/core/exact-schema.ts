/**
 * Rules of JSON Schema about numbers that no double has. Ajv judges doubles: it gets copies in which they are rounded, and the
 * rules that a rounding could change look up the digits. Used only where a schema or a value has such a number.
 */
import type { Ajv } from 'ajv'
import { canonicalJson, ExactNumber, isJsonObject, type Json } from './json.ts'

/** A copy with doubles, and the exact number of each member that was rounded, by its holder in the copy and its name. */
export interface RoundedCopy {
  value: unknown
  exact: Places
  holder: Root
}

type Places = WeakMap<object, Map<string, ExactNumber>>

/** The holder of the whole value. */
interface Root {
  root: unknown
}

/** Puts a double in the place of every exact number: a near one if it is whole, else one that is not whole either. */
export function roundNumbers(value: unknown): RoundedCopy {
  const exact: Places = new WeakMap()
  const holder: Root = { root: value }
  const copy = (from: object): object => {
    const to: object = Array.isArray(from) ? [] : {}
    for (const [key, one] of Object.entries(from)) {
      const isExact = one instanceof ExactNumber
      if (isExact) {
        exact.set(to, (exact.get(to) ?? new Map<string, ExactNumber>()).set(key, one))
      }
      const made = isExact ? doubleFor(one) : isJsonObject(one) || Array.isArray(one) ? copy(one) : one
      Object.defineProperty(to, key, { value: made, enumerable: true, writable: true, configurable: true })
    }
    return to
  }
  const made = copy(holder) as Root
  return { value: made.root, exact, holder: made }
}

/** What the type of a number is judged by. */
function doubleFor({ digits }: ExactNumber): number {
  return digits.includes('.') ? 0.5 : Number(digits)
}

/** What is judged at the moment: validation is synchronous. */
let judged: RoundedCopy | null = null

/** Runs a validation of `value.value` by a compiler with `exactRules`. */
export function judgingExactly<Result>(value: RoundedCopy, work: () => Result): Result {
  const before = judged
  judged = value
  try {
    return work()
  } finally {
    judged = before
  }
}

/** Replaces the rules of Ajv that a rounding could change. `schema`: the exact numbers of the schema that is compiled. */
export function exactRules(ajv: Ajv, schema: Places): Ajv {
  const rule = (
    keyword: string,
    message: string,
    holds: (limit: Json, data: Json) => boolean,
    type?: 'number' | 'array',
  ) => {
    ajv.removeKeyword(keyword)
    ajv.addKeyword({
      keyword,
      ...(type ? { type } : {}),
      error: { message },
      validate: (
        limit: Json,
        data: Json,
        parent: object = {},
        at?: { parentData: object | undefined; parentDataProperty: string | number },
      ) => {
        const dataHolder = at?.parentData ?? judged!.holder
        const dataName = at?.parentData ? String(at.parentDataProperty) : 'root'
        return holds(
          digitsOf(schema, parent, keyword, limit),
          digitsOf(judged!.exact, dataHolder, dataName, data),
        )
      },
    })
  }
  rule('maximum', 'must not be above the maximum', (limit, data) => compare(data, limit) <= 0, 'number')
  rule('minimum', 'must not be below the minimum', (limit, data) => compare(data, limit) >= 0, 'number')
  rule('exclusiveMaximum', 'must be below the maximum', (limit, data) => compare(data, limit) < 0, 'number')
  rule('exclusiveMinimum', 'must be above the minimum', (limit, data) => compare(data, limit) > 0, 'number')
  rule('multipleOf', 'must be a multiple of the number', isMultiple, 'number')
  rule('const', 'must be equal to constant', (one, data) => canonicalJson(one) === canonicalJson(data))
  rule('enum', 'must be one of the allowed values', (all, data) =>
    (all as Json[]).some((one) => canonicalJson(one) === canonicalJson(data)),
  )
  rule(
    'uniqueItems',
    'must NOT have duplicate items',
    (wanted, items) =>
      !wanted || new Set((items as Json[]).map(canonicalJson)).size === (items as Json[]).length,
    'array',
  )
  return ajv
}

/** The value of a member with its digits, and those of everything in it. */
function digitsOf(places: Places, holder: object, name: string, value: Json): Json {
  const own = places.get(holder)?.get(name)
  if (own) return own
  if (Array.isArray(value)) return value.map((one, i) => digitsOf(places, value, String(i), one))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, digitsOf(places, value, key, one)]),
  )
}

/** A number as a whole number of units of ten to the power of minus `scale`. */
function scaled(value: Json): { units: bigint; scale: number } {
  const text = value instanceof ExactNumber ? value.digits : String(value)
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(text) ?? []
  const power = Number(exponent) - fraction.length
  const units = BigInt(sign + whole + fraction) * 10n ** BigInt(Math.max(0, power))
  return { units, scale: Math.max(0, -power) }
}

/** Two numbers in the same units. */
function inSameUnits(a: Json, b: Json): [bigint, bigint] {
  const [one, other] = [scaled(a), scaled(b)]
  const scale = Math.max(one.scale, other.scale)
  return [one.units * 10n ** BigInt(scale - one.scale), other.units * 10n ** BigInt(scale - other.scale)]
}

/** The order of two numbers by their digits: below 0 when the first is less. */
function compare(a: Json, b: Json): number {
  const [one, other] = inSameUnits(a, b)
  return one < other ? -1 : one > other ? 1 : 0
}

/** Whether `data` is a multiple of `of`, in decimal digits as both are written. */
export function isMultiple(of: Json, data: Json): boolean {
  const [one, other] = inSameUnits(data, of)
  return other !== 0n && one % other === 0n
}

export { compare as compareNumbers }

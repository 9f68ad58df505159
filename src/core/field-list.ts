/**
 * The fields of a versioned entity, such as a tool. One list says of each field its input, its stored value, whether approvals
 * cover it and who may see it; creation, update, comparison and display follow from the list. Pure.
 */
import type { z } from 'zod'
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import { optional, type Optional } from './shapes.ts'

/** How values are masked. */
export interface Masking {
  /** Replaces each value by a placeholder; equal values have equal placeholders. */
  values(all: JsonObject): JsonObject
  /** Removes hidden arguments from a JSON Schema. */
  schema(full: JsonObject): JsonObject
}

export interface Traits<Kept> {
  /** The description of the field in the API; null when the API declares its own. */
  shown: string | null
  /** The part that approvals cover: only a change of it voids an approval. Absent: all; false: none. */
  judged?: false | OfKept<Kept, [], Json>
  /** Whether a change may loosen a rule. */
  loosens: boolean
  /** True: everyone sees the value; else what a caller sees, masked without the right to change it (`masking`). */
  seen: true | OfKept<Kept, [masking: Masking | null], object | null>
}

/** A function of the stored value. Written as a method, so that fields of any type fit in one list. */
type OfKept<Kept, More extends unknown[], Result> = { of(kept: Kept, ...more: More): Result }['of']

interface Common<Shape extends z.ZodType, Kept> {
  /** The input at creation. */
  readonly shape: Shape
  readonly traits: Traits<Kept>
  /** The stored value of an input. */
  keep(given: NonNullable<z.output<Shape>>): Kept
}

/** A field that is stored under its own name. */
export interface Field<Shape extends z.ZodType = z.ZodType, Kept = unknown> extends Common<Shape, Kept> {
  readonly kept: 'alone'
  /** The stored value when the input is left out; undefined: it is required. */
  readonly or: Kept | undefined
}

/** A required input that is stored under several names. */
export interface Bundle<Shape extends z.ZodType = z.ZodType, Kept extends object = object> extends Common<
  Shape,
  Kept
> {
  readonly kept: 'spread'
  /** Every name, with the value for rows that are older than the name; undefined when none is older. */
  readonly or: { [Name in keyof Kept]: Kept[Name] | undefined }
}

export type FieldList = Readonly<Record<string, Field | Bundle>>

/** A required field. */
export const requiredField = <Shape extends z.ZodType>(
  shape: Shape,
  traits: Traits<NonNullable<z.output<Shape>>>,
): Field<Shape, NonNullable<z.output<Shape>>> => ({
  kept: 'alone',
  shape,
  traits,
  or: undefined,
  keep: (given) => given,
})

/** The default of a field, and its words in descriptions. */
interface Otherwise<Kept> extends Traits<Kept> {
  or: NoInfer<Kept>
  /** Null when the description of the shape says it already. */
  otherwise: string | null
}

/** An optional field whose default is null. */
export function field<Shape extends z.ZodType, Kept = z.output<Shape>>(
  shape: Shape,
  how: Omit<Otherwise<Kept | null>, 'or'> & { or: null; keep?(given: z.output<Shape>): Kept },
): Field<Optional<Shape>, Kept | null>
/** The same with another default. */
export function field<Shape extends z.ZodType, Kept = z.output<Shape>>(
  shape: Shape,
  how: Otherwise<Kept> & { keep?(given: z.output<Shape>): Kept },
): Field<Optional<Shape>, Kept>
export function field(
  shape: z.ZodType,
  {
    or,
    otherwise,
    keep = (given) => given,
    ...traits
  }: Otherwise<unknown> & { keep?(given: unknown): unknown },
): Field {
  return { kept: 'alone', shape: optional(shape, otherwise), traits, or, keep }
}

export const bundle = <Shape extends z.ZodType, Kept extends object>(
  shape: Shape,
  how: Traits<Kept> & Pick<Bundle<Shape, Kept>, 'or' | 'keep'>,
): Bundle<Shape, Kept> => {
  const { keep, or, ...traits } = how
  return { kept: 'spread', shape, traits, or, keep }
}

type Spread<List> = {
  [Name in keyof List]: List[Name] extends Bundle<infer _, infer Kept> ? Kept : never
}[keyof List]
type Alone<List> = {
  [Name in keyof List as List[Name] extends Field ? Name : never]: List[Name] extends Field<
    infer _,
    infer Kept
  >
    ? Kept
    : never
}
/** The stored values of a list that has at most one bundle. */
export type StoredOf<List extends FieldList> = Alone<List> &
  ([Spread<List>] extends [never] ? unknown : Spread<List>)

/** The shapes of all inputs at creation. */
export type Shapes<List extends FieldList> = { [Name in keyof List]: List[Name]['shape'] }
export type GivenFields<List extends FieldList> = z.output<z.ZodObject<Shapes<List>>>

export function fieldShapes<List extends FieldList>(list: List): Shapes<List> {
  return Object.fromEntries(Object.entries(list).map(([name, { shape }]) => [name, shape])) as Shapes<List>
}

/** The stored values of an input; a field that is undefined keeps its value. */
export function storeFields<List extends FieldList>(
  list: List,
  given: GivenFields<List>,
  before?: null,
): StoredOf<List>
export function storeFields<List extends FieldList>(
  list: List,
  given: Changes<List>,
  before: StoredOf<List>,
): StoredOf<List>
export function storeFields<List extends FieldList>(
  list: List,
  given: Changes<List>,
  before: StoredOf<List> | null = null,
): StoredOf<List> {
  const made = Object.entries(list).flatMap(([name, one]): [string, unknown][] => {
    const value: unknown = given[name as keyof List]
    if (value === undefined && before) return []
    if (value === undefined || value === null)
      return one.kept === 'alone' && one.or !== undefined ? [[name, one.or]] : []
    const own: unknown = one.keep(value as never)
    return one.kept === 'alone' ? [[name, own]] : Object.entries(own as object)
  })
  return { ...(before && pick(before, namesOf(list))), ...Object.fromEntries(made) } as StoredOf<List>
}

/** The shapes of an update: null resets a field to its default. */
export type Changes<List extends FieldList> = {
  [Name in keyof List]?: GivenFields<List>[Name & keyof GivenFields<List>] | null | undefined
}

/** Completes the stored values of an earlier release. */
export function completeFields<List extends FieldList>(list: List, stored: object): StoredOf<List> {
  const missing = Object.entries(list).flatMap(([name, { kept: how, or }]) =>
    how === 'spread' ? Object.entries(or) : [[name, or]],
  )
  return {
    ...Object.fromEntries(missing.filter(([, value]) => value !== undefined)),
    ...stored,
  } as StoredOf<List>
}

/** What approvals cover: while it is equal, approvals hold. */
export function coverageOf<List extends FieldList>(list: List, stored: StoredOf<List>): JsonObject {
  return parts(list, stored, ({ judged: rule }, own, name) => {
    if (!rule) return rule === false ? {} : own
    return name === null ? (rule(own) as object) : { [name]: rule(own[name]) }
  })
}

/** All fields as a caller sees them; `masking` is null for one with the right to change them. */
export function viewOf<List extends FieldList>(
  list: List,
  stored: StoredOf<List>,
  masking: Masking | null,
): JsonObject {
  return parts(list, stored, (traits, own, name) => {
    if (traits.seen === true) return own
    return name === null ? traits.seen(own, masking) : { [name]: traits.seen(own[name], masking) }
  })
}

/** The names of the fields whose change may loosen a rule. */
export const looseningOf = <List extends FieldList>(list: List): (keyof List & string)[] =>
  Object.keys(list).filter((name) => list[name]!.traits.loosens)

/** Applies a function to each stored value; JSON in the order of the list. A bundle has no name. */
function parts(
  list: FieldList,
  stored: object,
  of: (traits: Traits<unknown>, own: Record<string, unknown>, name: string | null) => object | null,
): JsonObject {
  const made = Object.entries(list).map(([name, one]) =>
    of(one.traits, pick(stored, namesOf({ [name]: one })), one.kept === 'spread' ? null : name),
  )
  return asJson(Object.assign({}, ...made) as JsonObject) as JsonObject
}

/** The stored names of a list. */
const namesOf = (list: FieldList): string[] =>
  Object.entries(list).flatMap(([name, one]) => (one.kept === 'spread' ? Object.keys(one.or) : [name]))

const pick = (from: object, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.map((name) => [name, (from as Record<string, unknown>)[name]]))

/** Drops undefined members, as JSON does. */
function asJson(value: Json): Json {
  if (Array.isArray(value)) return value.map(asJson)
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value as Record<string, Json | undefined>)
  return Object.fromEntries(
    entries.flatMap(([key, one]): [string, Json][] => (one === undefined ? [] : [[key, asJson(one)]])),
  )
}

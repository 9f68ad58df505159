/**
 * Fields of what is kept in versions, such as a tool. One list says of each how it is given, what is kept of it, whether an
 * approval covers it and who sees it; what is created, changed, compared and shown follows from the list. Pure.
 */
import type { z } from 'zod'
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import { optional, type Optional } from './shapes.ts'

/** How values look to those who may not see everything. */
export interface Masking {
  /** A stand-in for each value; equal values have equal ones. */
  values(all: JsonObject): JsonObject
  /** A JSON Schema of arguments without those that are hidden. */
  schema(full: JsonObject): JsonObject
}

export interface Traits<Kept> {
  /** What it is as an API shows it; null: the API has a field of its own for it. */
  shown: string | null
  /** What of it an approval covers: a change of anything else voids no verdict. Absent: all of it; false: nothing. */
  judged?: false | OfKept<Kept, [], Json>
  /** Whether a change may loosen a rule. */
  loosens: boolean
  /** Whether everybody sees what is kept, or what is seen of it: without masking by who may change it. */
  seen: true | OfKept<Kept, [masking: Masking | null], object | null>
}

/** A function of what is kept of a field. Fields of every type are in one list: as a method, it fits there. */
type OfKept<Kept, More extends unknown[], Result> = { of(kept: Kept, ...more: More): Result }['of']

interface Common<Shape extends z.ZodType, Kept> {
  /** As it is given at creation. */
  readonly shape: Shape
  readonly traits: Traits<Kept>
  /** What is kept of a value that is given. */
  keep(given: NonNullable<z.output<Shape>>): Kept
}

/** Kept under its own name. */
export interface Field<Shape extends z.ZodType = z.ZodType, Kept = unknown> extends Common<Shape, Kept> {
  readonly kept: 'alone'
  /** What is kept when it is left out; undefined: it cannot be. */
  readonly or: Kept | undefined
}

/** Given as one, kept under several names. It cannot be left out. */
export interface Bundle<Shape extends z.ZodType = z.ZodType, Kept extends object = object> extends Common<
  Shape,
  Kept
> {
  readonly kept: 'spread'
  /** Every name, with what completes what was kept before the name existed; undefined: it always did. */
  readonly or: { [Name in keyof Kept]: Kept[Name] | undefined }
}

export type FieldList = Readonly<Record<string, Field | Bundle>>

/** A field that must be given. */
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

/** What is kept of a field that is left out, and how people call that. */
interface Otherwise<Kept> extends Traits<Kept> {
  or: NoInfer<Kept>
  /** Null: the description of the shape says it, or nothing does. */
  otherwise: string | null
}

/** A field that can be left out: null is kept then. */
export function field<Shape extends z.ZodType, Kept = z.output<Shape>>(
  shape: Shape,
  how: Omit<Otherwise<Kept | null>, 'or'> & { or: null; keep?(given: z.output<Shape>): Kept },
): Field<Optional<Shape>, Kept | null>
/** The same with something else than null. */
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
/** What is kept of all fields of a list that has one bundle at most. */
export type StoredOf<List extends FieldList> = Alone<List> &
  ([Spread<List>] extends [never] ? unknown : Spread<List>)

/** The shapes of all fields, as they are given at creation. */
export type Shapes<List extends FieldList> = { [Name in keyof List]: List[Name]['shape'] }
export type GivenFields<List extends FieldList> = z.output<z.ZodObject<Shapes<List>>>

export function fieldShapes<List extends FieldList>(list: List): Shapes<List> {
  return Object.fromEntries(Object.entries(list).map(([name, { shape }]) => [name, shape])) as Shapes<List>
}

/** What is kept of what is given; of a field that is not given (undefined), what was kept before. */
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

/** What is given to change it: null takes a field back to what is kept when it is left out. */
export type Changes<List extends FieldList> = {
  [Name in keyof List]?: GivenFields<List>[Name & keyof GivenFields<List>] | null | undefined
}

/** What was kept by an earlier release, with the fields that it did not have. */
export function completeFields<List extends FieldList>(list: List, stored: object): StoredOf<List> {
  const missing = Object.entries(list).flatMap(([name, { kept: how, or }]) =>
    how === 'spread' ? Object.entries(or) : [[name, or]],
  )
  return {
    ...Object.fromEntries(missing.filter(([, value]) => value !== undefined)),
    ...stored,
  } as StoredOf<List>
}

/** What an approval covers: when this is equal, so are the calls. */
export function coverageOf<List extends FieldList>(list: List, stored: StoredOf<List>): JsonObject {
  return parts(list, stored, ({ judged: rule }, own, name) => {
    if (!rule) return rule === false ? {} : own
    return name === null ? (rule(own) as object) : { [name]: rule(own[name]) }
  })
}

/** All fields as they are seen: by who may change them without masking. */
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

/** What a function says about what is kept of each field, as JSON, in the order of the list. A bundle has no name. */
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

/** The names under which a list keeps its fields. */
const namesOf = (list: FieldList): string[] =>
  Object.entries(list).flatMap(([name, one]) => (one.kept === 'spread' ? Object.keys(one.or) : [name]))

const pick = (from: object, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.map((name) => [name, (from as Record<string, unknown>)[name]]))

/** Leaves out what is undefined, as what is stored does. */
function asJson(value: Json): Json {
  if (Array.isArray(value)) return value.map(asJson)
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value as Record<string, Json | undefined>)
  return Object.fromEntries(
    entries.flatMap(([key, one]): [string, Json][] => (one === undefined ? [] : [[key, asJson(one)]])),
  )
}

/**
 * Shapes that say what they are called outside: scalars, choices and objects of an API. A shape without a name is what its zod
 * type is. Descriptions are zod's own (`describe`). Pure.
 */
import { z } from 'zod'
import { idPrefixes, type IdKind } from './ids.ts'
import type { Json } from './json.ts'

/** What a shape is called where types have names. */
export type Naming =
  | {
      as: 'scalar'
      name: 'ID' | 'String' | 'DateTime' | 'JSON' | 'JSONObject' | 'JSONSchema' | 'EventType'
    }
  | { as: 'choice'; name: string; about: string; meanings: Readonly<Record<string, string>> }
  | { as: 'object'; name: string; about: string; oneOf: boolean }
  | { as: 'entity'; name: string }
  | { as: 'reference'; name: string }

const namings = z.registry<Naming>()

/** What the shape is called; a shape that was described or checked further keeps its name. */
export const namingOf = (shape: z.core.$ZodType): Naming | undefined => namings.get(shape)

/** Calls a new shape by the name of a scalar. */
export function scalar<Shape extends z.ZodType>(
  name: Extract<Naming, { as: 'scalar' }>['name'],
  shape: Shape,
): Shape {
  namings.add(shape, { as: 'scalar', name })
  return shape
}

/** An id. */
export const idShape = (about: string): z.ZodString => scalar('ID', z.string()).describe(about)

/** The id of an object of this kind, which people call so. */
export const idOf = (kind: IdKind, words: string = kind, what = `the ${words}`): z.ZodString =>
  idShape(`The id of ${what}; it begins with ${idPrefixes[kind]}_.`)

/** A list of ids. */
export const ids = <Shape extends z.ZodType<string>>(one: Shape): z.ZodArray<Shape> =>
  z.array(scalar('ID', one.clone()))

/** Any JSON value. */
export const json = () => scalar('JSON', z.custom<Json>())

/** One of these values, each with its meaning. Outside, they are in capitals. */
export function choice<const Meanings extends Readonly<Record<string, string>>>(
  name: string,
  about: string,
  meanings: Meanings,
): z.ZodEnum<{ [Value in keyof Meanings & string]: Value }> {
  const shape = z.enum(Object.keys(meanings)) as z.ZodEnum<never>
  namings.add(shape, { as: 'choice', name, about, meanings })
  return shape
}

/** An object that is part of inputs. */
export function part<Fields extends z.ZodRawShape>(name: string, about: string, fields: Fields) {
  const shape = z.strictObject(fields)
  namings.add(shape, { as: 'object', name, about, oneOf: false })
  return shape
}

/** The same, where members that it does not know are dropped: our own APIs may know more of it. */
export function openPart<Fields extends z.ZodRawShape>(name: string, about: string, fields: Fields) {
  const shape = z.object(fields)
  namings.add(shape, { as: 'object', name, about, oneOf: false })
  return shape
}

type Forms<Fields extends z.ZodRawShape> = {
  [Name in keyof Fields]: z.ZodOptional<z.ZodNullable<Fields[Name]>>
}

/** An object that has exactly one of these fields. */
export function oneOf<Fields extends z.ZodRawShape>(
  name: string,
  about: string,
  fault: string,
  fields: Fields,
) {
  const forms = Object.fromEntries(
    Object.entries(fields).map(([form, shape]) => [form, z.optional(z.nullable(shape))]),
  ) as Forms<Fields>
  const shape = z
    .strictObject(forms)
    .refine((value) => Object.values(value).filter(Boolean).length === 1, fault)
  namings.add(shape, { as: 'object', name, about, oneOf: true })
  return shape
}

/** A part of inputs that is checked later: what is given may be anything. */
export function uncheckedPart<Shape extends z.ZodObject>(checkedPart: Shape): z.ZodType<z.input<Shape>> {
  const naming = namings.get(checkedPart)
  if (naming?.as !== 'object') throw new Error('The shape is no part of inputs.')
  const shape = z.custom<z.input<Shape>>()
  namings.add(shape, naming)
  parts.set(shape, checkedPart)
  return shape
}

const parts = new WeakMap<z.core.$ZodType, z.ZodObject>()

/** What an unchecked part would have to be. */
export const partBehind = (shape: z.core.$ZodType): z.core.$ZodType => parts.get(shape) ?? shape

/** A failure of a server that Gatehouse asked. */
export const serverFault = part('ServerFault', 'The failure of a server that Gatehouse asked.', {
  code: z
    .string()
    .describe(
      'The stable code of the failure for programs, such as `timeout` or `unreachable`; of a model a GenerationFailureCode, such ' +
        'as MODEL_AUTH.',
    ),
  message: z.string().describe('An explanation of the failure for people, without keys and addresses.'),
})

declare const entityName: unique symbol

/** An object with a life of its own, which an API shows by its own fields. */
export type Entity<Name extends string, Value> = z.ZodCustom<Value, Value> & { readonly [entityName]: Name }

/** `entity<Trigger>()('Trigger')`. */
export function entity<Value>() {
  return <const Name extends string>(name: Name): Entity<Name, Value> => {
    const shape = z.custom<Value>()
    namings.add(shape, { as: 'entity', name })
    return shape as Entity<Name, Value>
  }
}

/**
 * Such an object, or its id: in place of an id, an API shows the object as it is now, as far as its caller may read it.
 * `reference<Approval>()('Approval')`.
 */
export function reference<Value extends object>() {
  return (name: string): z.ZodType<string | Value> => {
    const shape = z.custom<string | Value>()
    namings.add(shape, { as: 'reference', name })
    return shape
  }
}

/** The description of a shape, or of what it makes optional. Throws for one without. */
export function descriptionOf(shape: z.core.$ZodType): string {
  const { description } = z.globalRegistry.get(shape) ?? {}
  if (description !== undefined) return description
  if (isOptional(shape)) return descriptionOf(shape.unwrap())
  throw new Error('A shape has no description.')
}

const examples = z.registry<{ example: z.core.$output }>()

/** Gives a shape an example, such as a made-up value to show. */
export function withExample<Shape extends z.ZodType>(shape: Shape, example: z.output<Shape>): Shape {
  examples.add(shape, { example } as never)
  return shape
}

/** A made-up object: the examples of all fields that have one. */
export function exampleOf<Shape extends z.ZodObject>(shape: Shape): z.output<Shape> {
  const made = Object.entries(shape.shape).flatMap(([name, one]) => {
    const known = examples.get(one)
    if (known) return [[name, known.example]]
    if (isOptional(one)) return []
    throw new Error(`The field ${name} has no example.`)
  })
  return Object.fromEntries(made) as z.output<Shape>
}

const otherwise = z.registry<{ otherwise: string }>()

const described = <Shape extends z.core.$ZodType>(shape: Shape, about: string) =>
  z.optional(z.nullable(shape)).describe(about)

/** A shape that takes null, or nothing. */
export type Optional<Shape extends z.core.$ZodType> = z.ZodOptional<z.ZodNullable<Shape>>

/** A field that may be left out or null: what holds then ends its description, unless that says it already. */
export function optional<Shape extends z.ZodType>(shape: Shape, whatHolds: string | null): Optional<Shape> {
  if (whatHolds === null) return z.optional(z.nullable(shape))
  const made = described(shape, `${descriptionOf(shape)} Default: ${whatHolds}.`)
  otherwise.add(made, { otherwise: whatHolds })
  return made
}

/** The shape inside of `optional`. */
type Bare<Shape> = Shape extends z.ZodOptional<z.ZodNullable<infer Inner>> ? Inner : Shape
type Changes<Fields extends z.ZodRawShape> = {
  [Name in keyof Fields]: z.ZodOptional<z.ZodNullable<Bare<Fields[Name]>>>
}

/** Fields of what is created as those of its change, in which a field that is left out or null stays as it is. */
export const keepOnNull = <Fields extends z.ZodRawShape>(fields: Fields): Changes<Fields> =>
  changed(fields, () => 'Default: unchanged.')

/** The same where null takes a field back to what it is when it is left out at creation. */
export const resetOnNull = <Fields extends z.ZodRawShape>(fields: Fields): Changes<Fields> =>
  changed(fields, (whatHolds) =>
    whatHolds === undefined ? 'Default: unchanged.' : `Left out: unchanged; null: ${whatHolds}.`,
  )

/** The same where they override, for one use, what was created; some descriptions end in a way of their own. */
export const overrideShapes = <Fields extends z.ZodRawShape>(
  fields: Fields,
  endings: { [Name in keyof Fields]?: string },
  ending: string,
): Changes<Fields> => changed(fields, (_whatHolds, name) => endings[name] ?? ending)

function changed<Fields extends z.ZodRawShape>(
  fields: Fields,
  ending: (whatHolds: string | undefined, name: string) => string,
): Changes<Fields> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, shape]) => {
      const known = otherwise.get(shape)
      if (isOptional(shape) && !known) return [name, shape]
      const bare = known ? bareOf(shape) : shape
      return [name, described(bare, `${descriptionOf(bare)} ${ending(known?.otherwise, name)}`)]
    }),
  ) as Changes<Fields>
}

/** The shape without what makes it optional. */
export const bareOf = (shape: z.core.$ZodType): z.core.$ZodType =>
  isOptional(shape) ? bareOf(shape.unwrap()) : shape

/** Whether the shape takes null, or nothing. */
export const isOptional = (shape: z.core.$ZodType): shape is z.ZodOptional | z.ZodNullable =>
  shape instanceof z.ZodOptional || shape instanceof z.ZodNullable

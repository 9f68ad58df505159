/** Makes GraphQL types out of the shapes of the domain, each once for a builder. */
import type {
  ArgumentRef,
  EnumRef,
  FieldMap,
  InputFieldRef,
  InputRef,
  InterfaceRef,
  ObjectRef,
  OutputRef,
} from '@pothos/core'
import { z } from 'zod'
import type { FieldList, StoredOf } from '../../../core/field-list.ts'
import { idPrefixes, type IdKind } from '../../../core/ids.ts'
import { fieldNameOf, relationOf } from '../../../core/view.ts'
import { bareOf, descriptionOf, isOptional, namingOf, partBehind, type Naming } from '../../../core/shapes.ts'
import type { Builder, BuilderTypes, EnumOf } from './builder.ts'
import { hasPrefix } from './connections.ts'
import type { GraphQLContext } from './context.ts'
import { loadOf, relatedField, type Load } from './relations.ts'

export type Shapes = ReturnType<typeof createShapes>

type Choice = z.ZodType<string> & z.core.$ZodType
type InputFields = Parameters<Parameters<Builder['inputType']>[1]['fields']>[0]
type Kind = 'Object' | 'Interface'
type FieldsOf<Value, In extends Kind> = PothosSchemaTypes.FieldBuilder<BuilderTypes, Value, In>
type Interfaces = InterfaceRef<BuilderTypes, unknown>[]
type OwnFields<Value> = (t: PothosSchemaTypes.ObjectFieldBuilder<BuilderTypes, Value>) => FieldMap
/** Makes an argument, as the field builder of a query does. */
type QueryArgument = (options: {
  type: never
  required: boolean
  description: string
}) => ArgumentRef<BuilderTypes, unknown>
/** What Pothos takes as the type of a field, out of a shape that is known only at run time. */
type Type<Ref> = string | Ref | Type<Ref>[]

export function createShapes(builder: Builder, entities: Readonly<Record<string, OutputRef<unknown>>>) {
  const choices = new Map<string, EnumRef<BuilderTypes, string>>()
  const parts = new Map<string, InputRef<object>>()
  const objects = new Map<string, OutputRef<unknown>>()

  /** The enum type of a choice. */
  function choice<Shape extends Choice>(shape: Shape): EnumOf<z.output<Shape>> {
    const naming = namingOf(shape)
    if (naming?.as !== 'choice') throw new Error('The shape is no choice.')
    return choiceOf(naming) as EnumOf<z.output<Shape>>
  }

  function choiceOf({ name, about, meanings }: Extract<Naming, { as: 'choice' }>) {
    const made =
      choices.get(name) ??
      builder.enumType(name, {
        description: about,
        values: Object.fromEntries(
          Object.entries(meanings).map(([value, description]) => [
            value.toUpperCase().replaceAll('-', '_'),
            { value, description },
          ]),
        ),
      })
    choices.set(name, made)
    return made
  }

  /** The input type of an object. */
  function input<Shape extends z.ZodObject>(name: string, shape: Shape): InputRef<z.input<Shape>> {
    return partOf(name, aboutOf(shape), shape, false) as InputRef<z.input<Shape>>
  }

  /** The input type of a part of inputs, which has a name. */
  function part<Shape extends z.ZodType>(shape: Shape): InputRef<z.input<Shape>> {
    return typeOf(shape, inputs) as InputRef<z.input<Shape>>
  }

  function partOf(
    name: string,
    description: string,
    shape: z.core.$ZodType,
    isOneOf: boolean,
  ): InputRef<object> {
    const known = parts.get(name)
    if (known) return known
    if (!(shape instanceof z.ZodObject)) throw new Error(`${name} is no object.`)
    const ref = builder.inputType(name, {
      description,
      isOneOf,
      fields: (t) => inputFields(t, shape.shape),
    }) as InputRef<object>
    parts.set(name, ref)
    return ref
  }

  /** The fields of an input type with these shapes. */
  function inputFields<Given extends z.core.$ZodShape>(t: InputFields, shapes: Given) {
    return mapValues(shapes, (one) =>
      t.field({
        type: typeOf(one, inputs) as never,
        required: !isOptional(one) as never,
        description: descriptionOf(one),
      }),
    ) as { [Name in keyof Given]: InputFieldRef<BuilderTypes, z.input<Given[Name]>> }
  }

  /** The arguments of a query with these shapes. */
  function args(t: { arg: QueryArgument }, shapes: Readonly<Record<string, z.core.$ZodType>>) {
    return mapValues(shapes, (one) =>
      t.arg({
        type: typeOf(one, inputs) as never,
        required: !isOptional(one),
        description: descriptionOf(one),
      }),
    )
  }

  /** The object type of what an operation returns. */
  function payload<Shape extends z.ZodObject>(
    name: string,
    shape: Shape,
  ): ObjectRef<BuilderTypes, z.output<Shape>> {
    return builder.objectRef<z.output<Shape>>(name).implement({
      description: aboutOf(shape),
      fields: (t) => fields(t, shape),
    })
  }

  /** The fields of an object type whose values have this shape. */
  function fields<Shape extends z.ZodObject, Value extends z.output<Shape>, In extends Kind>(
    t: FieldsOf<Value, In>,
    shape: Shape,
  ) {
    return fieldsAt(t, shape.shape, (value, name) => (value as Record<string, unknown>)[name])
  }

  /** Fields with these shapes and what they name, of values that are found in an object; `load` finds what is special. */
  function fieldsAt<Value extends object, In extends Kind>(
    t: FieldsOf<Value, In>,
    shapes: z.core.$ZodShape,
    valueAt: (value: Value, name: string) => unknown,
    load: Readonly<Record<string, Load>> = {},
  ) {
    const own = Object.entries(shapes).flatMap(([name, one]) => {
      const valueOf = (value: Value) => valueAt(value, name)
      const as = fieldNameOf(one, name)
      const relation = relationOf(one)
      return [
        ...(as ? [[as, t.field({ ...outputOptions(one), resolve: resolverOf(one, valueOf) })] as const] : []),
        ...(relation
          ? [
              [
                relation.as,
                t.field(relatedField(entities, one, relation, valueOf, load[relation.entity]) as never),
              ] as const,
            ]
          : []),
      ]
    })
    return Object.fromEntries(own)
  }

  /** Implements an object type: its description and the fields of its shape, and fields of its own. */
  function implement<Value extends z.output<Shape>, Shape extends z.ZodObject>(
    ref: ObjectRef<BuilderTypes, Value>,
    shape: Shape,
    own?: OwnFields<Value>,
    more: { interfaces?: Interfaces; isTypeOf?: (value: unknown) => boolean } = {},
  ) {
    return builder.objectType(ref, {
      ...(more as object),
      description: aboutOf(shape),
      fields: (t) => ({ ...fields(t, shape), ...own?.(t) }),
    })
  }

  /** The same for an object with an id of this kind, which the query `node` finds. */
  function node<Value extends z.output<Shape>, Shape extends z.ZodObject>(
    ref: ObjectRef<BuilderTypes, Value>,
    kind: IdKind,
    shape: Shape,
    own?: OwnFields<Value>,
    interfaces: Interfaces = [],
  ) {
    return implement(ref, shape, own, {
      interfaces: [builder.nodeInterfaceRef(), ...interfaces],
      isTypeOf: (value) => hasPrefix(value, `${idPrefixes[kind]}_`),
    })
  }

  /** The fields of a kept object that the list itself says how to show. */
  function storedFields<List extends FieldList, Value extends StoredOf<List>, In extends Kind>(
    t: FieldsOf<Value, In>,
    list: List,
  ) {
    const own = Object.entries(list).flatMap(([name, { shape, traits, or }]) =>
      traits.shown === null
        ? []
        : [
            [
              name,
              t.field({
                ...outputOptions(shape, traits.shown, or === null),
                resolve: resolverOf(shape, (value: object) => (value as Record<string, unknown>)[name]),
              }),
            ] as const,
          ],
    )
    return Object.fromEntries(own)
  }

  /** The options of an output field with this shape. */
  const outputOptions = (
    shape: z.core.$ZodType,
    description = descriptionOf(shape),
    nullable = isOptional(shape) && !isMark(shape),
  ) => ({
    type: typeOf(shape, outputs) as never,
    nullable: nullable as never,
    description,
  })
  const resolverOf = <Value>(shape: z.core.$ZodType, valueOf: (value: Value) => unknown) => {
    const naming = namingOf(bareOf(shape))
    if (naming?.as !== 'reference')
      return (value: Value) => (valueOf(value) ?? (isMark(shape) ? false : null)) as never
    const load = loadOf(naming.name)
    if (!load) throw new Error(`Nothing loads a ${naming.name} by its id.`)
    return (value: Value, _args: unknown, { loaders }: GraphQLContext) => {
      const named = valueOf(value) ?? null
      return (typeof named === 'string' ? load(loaders, named, value as never) : named) as never
    }
  }

  const inputs = (naming: Naming, shape: z.core.$ZodType): InputRef<object> => {
    if (naming.as === 'object') return partOf(naming.name, naming.about, partBehind(shape), naming.oneOf)
    throw new Error(`An input cannot have a ${naming.name}.`)
  }
  const outputs = (naming: Naming, shape: z.core.$ZodType): OutputRef<unknown> => {
    const { as, name } = naming
    const found = as === 'object' ? objectOf(naming, shape) : entities[name]
    if (found) return found
    throw new Error(`There is no object type ${name}.`)
  }

  /** The object type of a part of payloads, which has a name. */
  function object<Shape extends z.ZodObject>(shape: Shape): ObjectRef<BuilderTypes, z.output<Shape>> {
    return typeOf(shape, outputs) as ObjectRef<BuilderTypes, z.output<Shape>>
  }

  function objectOf({ name, about }: Extract<Naming, { as: 'object' }>, shape: z.core.$ZodType) {
    const known = objects.get(name)
    if (known) return known
    if (!(shape instanceof z.ZodObject)) throw new Error(`${name} is no object.`)
    const ref: OutputRef<unknown> = builder
      .objectRef<Record<string, unknown>>(name)
      .implement({ description: about, fields: (t) => fields(t, shape) })
    objects.set(name, ref)
    return ref
  }

  /** The type of a field with this shape; `of` finds that of what is no scalar and no choice. */
  function typeOf<Ref>(
    shape: z.core.$ZodType,
    of: (naming: Naming, shape: z.core.$ZodType) => Ref,
  ): Type<Ref | EnumRef<BuilderTypes, string>> {
    const naming = namingOf(shape)
    if (naming?.as === 'scalar') return naming.name
    if (naming?.as === 'choice') return choiceOf(naming)
    if (naming) return of(naming, shape)
    const { def } = (shape as z.core.$ZodTypes)._zod
    switch (def.type) {
      case 'optional':
      case 'nullable':
        return typeOf(def.innerType, of)
      case 'pipe':
        return typeOf(def.in, of)
      case 'array':
        return [typeOf(def.element, of)]
      case 'string':
        return 'String'
      case 'boolean':
      case 'literal':
        return 'Boolean'
      case 'number':
        return shape instanceof z.ZodNumber && shape.isInt ? 'Int' : 'Float'
      case 'date':
        return 'DateTime'
      default:
        throw new Error(`A shape of the type ${def.type} needs a name: see core/shapes.ts.`)
    }
  }

  return {
    choice,
    part,
    object,
    input,
    inputFields,
    args,
    payload,
    fields,
    fieldsAt,
    outputOptions,
    implement,
    node,
    storedFields,
  }
}

/** Whether the shape is true or left out. */
const isMark = (shape: z.core.$ZodType) => bareOf(shape) instanceof z.ZodLiteral

/** The description of an object type. */
function aboutOf(shape: z.core.$ZodType): string {
  const naming = namingOf(shape)
  return naming?.as === 'object' ? naming.about : descriptionOf(shape)
}

/** What is made of each value of a record; a fault names its place. */
export function mapValues<Key extends string, Value, Made>(
  record: Readonly<Record<Key, Value>>,
  make: (value: Value, key: Key) => Made,
): Record<Key, Made> {
  const made = (Object.entries(record) as [Key, Value][]).map(([key, value]): [string, Made] => {
    try {
      return [key, make(value, key)]
    } catch (cause) {
      throw new Error(`${key}: ${(cause as Error).message}`, { cause })
    }
  })
  return Object.fromEntries(made) as Record<Key, Made>
}

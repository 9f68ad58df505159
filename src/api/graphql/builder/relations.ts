/** Fields with the object that another field names by its id, as it is now: null, or left out of a list, when hidden. */
import type { ObjectRef, OutputRef } from '@pothos/core'
import { z } from 'zod'
import type { Relation } from '../../../core/view.ts'
import { isOptional } from '../../../core/shapes.ts'
import type { BuilderTypes } from './builder.ts'
import type { GraphQLContext, Loaders } from './context.ts'

type Entity = Relation['entity']

/** How the object is found that a value names; the value itself may say more of it than its id. */
export type Load = (loaders: Loaders, id: string, value: never) => Promise<object | null>

const loaderOf = {
  Agent: 'agents',
  Approval: 'approvals',
  File: 'files',
  Generation: 'generations',
  Grant: 'grants',
  Principal: 'principals',
  Project: 'projects',
  Step: 'steps',
  Thread: 'threads',
  Tool: 'tools',
  ToolCall: 'toolCalls',
} as const satisfies Record<Entity, keyof Loaders>

/** The loader of objects of a type; undefined: nothing loads them by their ids. */
export const loadOf = (type: string): Load | undefined =>
  Object.hasOwn(loaderOf, type) ? (loaders, id) => loaders[loaderOf[type as Entity]].load(id) : undefined

/** The options of the field. */
export function relatedField<Value>(
  refs: Readonly<Record<string, OutputRef<unknown>>>,
  shape: z.core.$ZodType,
  { entity, about: description }: Relation,
  valueOf: (value: Value) => unknown,
  load: Load = loadOf(entity)!,
) {
  const ref = refs[entity] as ObjectRef<BuilderTypes, object>
  const one = (value: Value, id: unknown, { loaders }: GraphQLContext) =>
    load(loaders, id as string, value as never)
  if (!(shape instanceof z.ZodArray))
    return {
      type: ref,
      // There is a principal for every id.
      nullable: (entity !== 'Principal' || isOptional(shape)) as true,
      description,
      resolve(value: Value, _args: object, context: GraphQLContext) {
        const id = valueOf(value) ?? null
        return id === null ? null : one(value, id, context)
      },
    }
  return {
    type: [ref],
    description,
    resolve: async (value: Value, _args: object, context: GraphQLContext) => {
      const all = await Promise.all((valueOf(value) as string[]).map((id) => one(value, id, context)))
      return all.filter((found) => found !== null)
    },
  } as never
}

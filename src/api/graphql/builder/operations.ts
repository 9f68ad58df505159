/** The operations of the domain as mutations, with everything that they declare. */
import type { OutputRef } from '@pothos/core'
import type { z } from 'zod'
import type { Entity } from '../../../core/shapes.ts'
import { operationsIn, type Declaration, type Operation } from '../../../domain/access/index.ts'
import { selectionOf } from './action-mark.ts'
import { refusalNames } from './errors.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'

/** The entities in the payloads of the operations of a module, as the refs that they need. */
type RefsFor<Module> = {
  [Used in EntityIn<PayloadOf<Module[keyof Module]>> as Used['name']]: OutputRef<Used['value']>
}
type PayloadOf<One> =
  One extends Operation<infer _, infer Payload, infer _More>
    ? Payload['shape'][keyof Payload['shape']]
    : never
type EntityIn<Shape> =
  Shape extends Entity<infer Name, infer Value>
    ? { name: Name; value: Value }
    : Shape extends z.ZodNullable<infer Inner> | z.ZodArray<infer Inner>
      ? EntityIn<Inner>
      : never

/** Adds a mutation for each operation that a module exports. An entity without an object type of its shape does not compile. */
export function addOperations<Module extends object>(refs: Refs & RefsFor<Module>, module: Module): void {
  for (const one of operationsIn(module)) addOperation(refs, one)
}

export function addOperation(refs: Refs, one: Operation): void {
  const { name, does, permission, input, payload, refuses, isAction, loosening = [] } = one.declaration
  const pascal = name[0]!.toUpperCase() + name.slice(1)
  addMutation(refs, {
    name,
    description: `${does} Permission: ${permissionText(permission)}.`,
    input: refs.shapes.input(`${pascal}Input`, input),
    payload: refs.shapes.payload(`${pascal}Payload`, payload),
    errors: refuses.map((code) => refusalNames[code]),
    ...(isAction ? { action: selectionOf(payload, isAction), loosening } : {}),
    run: (ctx, input, context) => one(ctx, input, context as never),
  })
}

function permissionText(permission: Declaration['permission']): string {
  return [permission]
    .flat()
    .map((one) => (typeof one === 'string' ? one : one.join(' for ')))
    .join(', and ')
}

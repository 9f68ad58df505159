/** The operations of the domain as mutations, with everything that they declare. */
import type { OutputRef, UnionRef } from '@pothos/core'
import type { z } from 'zod'
import { namingOf, type Entity } from '../../../core/shapes.ts'
import { operationsIn, type Declaration, type Operation } from '../../../domain/access/index.ts'
import { actionMark, selectionOf } from './action-mark.ts'
import type { BuilderTypes } from './builder.ts'
import { refusalNameOf, refusalNames, refusalOf, type RefusalName } from './errors.ts'
import type { Refs } from './refs.ts'

/** The entities in the payloads of the operations of these modules, as the refs that they need. */
type RefsFor<Module> = {
  [Used in EntityIn<PayloadOf<ExportOf<Module>>> as Used['name']]: OutputRef<Used['value']>
}
type ExportOf<Module> = Module extends object ? Module[keyof Module] : never
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

/**
 * Adds a mutation for each operation that the modules export. An entity without an object type of its shape does not compile.
 * Operations with the same payload share the union of it and their errors: `createTool` and `updateTool` return a `ToolResult`.
 */
export function addOperations<Modules extends readonly object[]>(
  refs: Refs & RefsFor<Modules[number]>,
  ...modules: Modules
): void {
  const all = new Map<string, Operation[]>()
  for (const one of modules.flatMap(operationsIn)) {
    const payload = payloadNameOf(one.declaration)
    all.set(payload, [...(all.get(payload) ?? []), one])
  }
  for (const [payload, operations] of all) {
    const { Result, errors } = resultOf(refs, payload, operations)
    for (const one of operations) addMutation(refs, one, Result, errors)
  }
}

function payloadNameOf({ name, payload }: Pick<Declaration, 'name' | 'payload'>): string {
  return namingOf(payload)?.name ?? `${pascal(name)}Payload`
}

const pascal = (name: string) => name[0]!.toUpperCase() + name.slice(1)

function resultOf({ builder, ...refs }: Refs, name: string, operations: readonly Operation[]) {
  // Any input can be invalid, and `... on ValidationError` must be legal on every result.
  const codes = operations.flatMap(({ declaration }) => declaration.refuses)
  const errors = [...new Set<RefusalName>(['ValidationError', ...codes.map((code) => refusalNames[code])])]
  const payload = refs.shapes.payload(name, operations[0]!.declaration.payload)
  const mutations = operations.map(({ declaration }) => declaration.name).toSorted()
  const Result = builder.unionType(name.replace(/Payload$/, 'Result'), {
    description: `The result of ${listed(mutations)}: ${name} on success, else a typed error.`,
    types: [payload, ...errors.map((error) => refs.errors[error])],
    resolveType: (value) => refusalNameOf(value) ?? name,
  })
  return { Result, errors }
}

const listed = (names: readonly string[]) => new Intl.ListFormat('en').format(names)

function addMutation(
  { builder, shapes }: Refs,
  one: Operation,
  type: UnionRef<BuilderTypes, object>,
  errors: readonly RefusalName[],
): void {
  const { name, does, permission, input, payload, refuses, isAction, loosening = [] } = one.declaration
  const own = refuses.map((code) => refusalNames[code]).toSorted()
  builder.mutationField(name, (t) =>
    t.field({
      type,
      description:
        `${does} Permission: ${permissionText(permission)}` + (own[0] ? `; errors: ${own.join(', ')}.` : '.'),
      ...(isAction ? actionMark(selectionOf(payload, isAction), loosening) : {}),
      args: {
        input: t.arg({
          type: shapes.input(`${pascal(name)}Input`, input),
          required: true,
          description: `The input of ${name}.`,
        }),
      },
      resolve: async (_root, args, context) => {
        try {
          return await one(context.ctx, args.input, context as never)
        } catch (error) {
          return refusalOf(error, errors)
        }
      },
    }),
  )
}

function permissionText(permission: Declaration['permission']): string {
  return [permission]
    .flat()
    .map((one) => (typeof one === 'string' ? one : one.join(' for ')))
    .join(', and ')
}

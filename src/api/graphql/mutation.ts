/** The shape of every mutation: one input, and a union of its payload with the errors that a client must handle. */
import type { InputRef, ObjectRef } from '@pothos/core'
import type { Ctx } from '../../domain/access/index.ts'
import { actionMark } from './action-mark.ts'
import type { builder } from './builder.ts'
import type { GraphQLContext } from './context.ts'
import { refusalNameOf, refusalOf, type RefusalName } from './errors.ts'
import type { Refs } from './refs.ts'

type Types = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer T> ? T : never

export interface MutationOptions<Input, Payload extends object> {
  /** `createTool` returns `CreateToolResult`, a union whose success member is `CreateToolPayload`. */
  name: string
  description: string
  input: InputRef<Input>
  payload: ObjectRef<Types, Payload>
  errors: readonly RefusalName[]
  /** Makes the mutation a platform action too: the selection set of its payload. */
  action?: string
  /** Calls one operation of the domain. */
  run(ctx: Ctx, input: Input, context: GraphQLContext): Promise<Payload>
}

/** Adds a mutation field with its result union. Errors that `errors` does not list stay top-level errors. */
export function addMutation<Input, Payload extends object>(
  refs: Refs,
  options: MutationOptions<Input, Payload>,
): void {
  const { name, description, payload, run } = options
  // Any input can be invalid, and `... on ValidationError` must be legal on every result.
  const errors = [...new Set<RefusalName>(['ValidationError', ...options.errors])]
  const pascal = name[0]!.toUpperCase() + name.slice(1)
  const result = refs.builder.unionType(`${pascal}Result`, {
    description: `The result of ${name}: ${pascal}Payload on success, else a typed error.`,
    types: [payload, ...errors.map((error) => refs.errors[error])],
    resolveType: (value) => refusalNameOf(value) ?? `${pascal}Payload`,
  })
  refs.builder.mutationField(name, (t) =>
    t.field({
      type: result,
      description,
      ...(options.action ? actionMark(options.action) : {}),
      args: {
        input: t.arg({ type: options.input, required: true, description: `The input of ${name}.` }),
      },
      // The builder's types cannot follow the generic input; GraphQL has validated it.
      resolve: (async (_root: object, args: { input: Input }, context: GraphQLContext) => {
        try {
          return await run(context.ctx, args.input, context)
        } catch (error) {
          return refusalOf(error, errors)
        }
      }) as never,
    }),
  )
}

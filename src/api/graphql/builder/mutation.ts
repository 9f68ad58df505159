/** The shape of every mutation: one input, and a union of its payload with the errors that a client must handle. */
import type { InputRef, ObjectRef } from '@pothos/core'
import type { Ctx } from '../../../domain/access/index.ts'
import { actionMark } from './action-mark.ts'
import type { BuilderTypes } from './builder.ts'
import type { GraphQLContext } from './context.ts'
import { refusalNameOf, refusalOf, type RefusalName } from './errors.ts'
import type { Refs } from './refs.ts'

export interface MutationOptions<Input extends object, Payload extends object> {
  /** `createTool` returns `CreateToolResult`, a union whose success member is `CreateToolPayload`. */
  name: string
  description: string
  input: InputRef<Input>
  payload: ObjectRef<BuilderTypes, Payload>
  errors: readonly RefusalName[]
  /** Makes the mutation a platform action too: the selection set of its payload. */
  action?: string
  /** See `ActionMark`. */
  loosening?: readonly string[]
  /** Calls one operation of the domain. */
  run(ctx: Ctx, input: Input, context: GraphQLContext): Promise<Payload>
}

/** Adds a mutation field with its result union. Errors that `errors` does not list stay top-level errors. */
export function addMutation<Input extends object, Payload extends object>(
  refs: Refs,
  options: MutationOptions<Input, Payload>,
): void {
  const { name, description, payload, run } = options
  // Any input can be invalid, and `... on ValidationError` must be legal on every result.
  const errors = [...new Set<RefusalName>(['ValidationError', ...options.errors])]
  // Pothos derives no arguments and no results from types that are still generic.
  const input: InputRef<object> = options.input
  const members: ObjectRef<BuilderTypes, object>[] = [payload, ...errors.map((error) => refs.errors[error])]
  const pascal = name[0]!.toUpperCase() + name.slice(1)
  const result = refs.builder.unionType(`${pascal}Result`, {
    description: `The result of ${name}: ${pascal}Payload on success, else a typed error.`,
    types: members,
    resolveType: (value) => refusalNameOf(value) ?? `${pascal}Payload`,
  })
  refs.builder.mutationField(name, (t) =>
    t.field({
      type: result,
      description,
      ...(options.action ? actionMark(options.action, options.loosening) : {}),
      args: {
        input: t.arg({ type: input, required: true, description: `The input of ${name}.` }),
      },
      resolve: async (_root, args, context) => {
        try {
          return await run(context.ctx, args.input as Input, context)
        } catch (error) {
          return refusalOf(error, errors)
        }
      },
    }),
  )
}

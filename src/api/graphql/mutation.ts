/** One shape for every mutation: one input, and a union of its payload with the refusals that a client must handle. */
import type { InputRef, ObjectRef } from '@pothos/core'
import type { Ctx } from '../../domain/access/index.ts'
import { actionMark } from './action-mark.ts'
import type { BuilderTypes } from './builder.ts'
import type { GraphQLContext } from './context.ts'
import { refusalNameOf, refusalOf, type RefusalName } from './errors.ts'
import type { Refs } from './refs.ts'

export interface MutationOptions<Input extends object, Payload extends object> {
  /** `createTool` answers `CreateToolResult`, a union whose success member is `CreateToolPayload`. */
  name: string
  description: string
  input: InputRef<Input>
  payload: ObjectRef<BuilderTypes, Payload>
  errors: readonly RefusalName[]
  /** Makes it a platform action too: what is selected of its payload. */
  action?: string
  /** One operation of the domain. */
  run(ctx: Ctx, input: Input, context: GraphQLContext): Promise<Payload>
}

/** Adds a mutation field with its result union. Refusals it does not list stay top-level errors. */
export function addMutation<Input extends object, Payload extends object>(
  refs: Refs,
  options: MutationOptions<Input, Payload>,
): void {
  const { name, description, payload, run } = options
  // Any input can be faulty, and a client that spreads ValidationError everywhere must always be right.
  const errors = [...new Set<RefusalName>(['ValidationError', ...options.errors])]
  // Pothos derives no arguments and no results from types that are still generic.
  const input: InputRef<object> = options.input
  const members: ObjectRef<BuilderTypes, object>[] = [payload, ...errors.map((error) => refs.errors[error])]
  const pascal = name[0]!.toUpperCase() + name.slice(1)
  const result = refs.builder.unionType(`${pascal}Result`, {
    description: `The outcome of ${name}: ${pascal}Payload when it was done, else a typed refusal.`,
    types: members,
    resolveType: (value) => refusalNameOf(value) ?? `${pascal}Payload`,
  })
  refs.builder.mutationField(name, (t) =>
    t.field({
      type: result,
      description,
      ...(options.action ? actionMark(options.action) : {}),
      args: {
        input: t.arg({ type: input, required: true, description: 'Everything the mutation takes.' }),
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

/** The mutation that cancels what a filter finds. */
import { cancelGenerations, mostCancelled } from '../../../domain/generations/index.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'
import type { GenerationFilterRef } from './generation-filter.ts'

export function addCancelMany(refs: Refs, Filter: GenerationFilterRef): void {
  const { builder } = refs
  addMutation(refs, {
    name: 'cancelGenerations',
    description:
      `Requests the end of the oldest generations that match a filter and have not ended, at most ${mostCancelled}. ` +
      'Idempotent. Permission: generations:List and generations:Cancel.',
    input: builder.inputType('CancelGenerationsInput', {
      description: 'The generations to cancel.',
      fields: (t) => ({
        projectId: t.id({ description: 'The id of the project. Default: the project of the API key.' }),
        filter: t.field({
          type: Filter,
          required: true,
          description: 'The filter, as in the query generations; an empty one matches every generation.',
        }),
        reason: t.string({ description: 'The reason for people to read, at most 1,000 characters.' }),
      }),
    }),
    payload: builder
      .objectRef<{ cancelled: number; hasMore: boolean }>('CancelGenerationsPayload')
      .implement({
        description: 'The number of generations that were asked to end.',
        fields: (t) => ({
          cancelled: t.exposeInt('cancelled', {
            description: 'The number of generations whose end this request asked for.',
          }),
          hasMore: t.exposeBoolean('hasMore', {
            description: 'Whether other generations match: send the mutation again.',
          }),
        }),
      }),
    errors: ['ValidationError', 'NotFoundError'],
    run: (ctx, input) => cancelGenerations(ctx, input),
  })
}

/** Threads that are opened, in GraphQL. */
import { type CreateThreadInput, type Thread, createThread } from '../../../domain/threads/index.ts'
import type { addGenerationInput } from './generation-input.ts'
import type { addGenerations } from './generations.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'

/** The types that threads refer to. */
export type ThreadTypes = ReturnType<typeof addGenerations> & ReturnType<typeof addGenerationInput>

export function addThreadMutations(refs: Refs, { MessageInput }: ThreadTypes): void {
  const { builder, Thread } = refs
  addMutation(refs, {
    name: 'createThread',
    description:
      'Opens a thread before its first generation. A repeat with the same externalId returns the thread that exists. ' +
      'Permission: generations:Start.',
    input: builder.inputType('CreateThreadInput', {
      description: 'A thread to be opened.',
      fields: (t) => ({
        agentId: t.id({ required: true, description: 'The id of the agent; it begins with agt_.' }),
        externalId: t.string({
          description:
            'An id of your own, 1 to 200 characters, which names one thread of the agent. Default: none.',
        }),
        messages: t.field({
          type: [MessageInput],
          description:
            'The conversation so far, 1 to 1000 messages: the history of its generations. Default: none.',
        }),
      }),
    }),
    payload: builder.objectRef<{ thread: Thread }>('CreateThreadPayload').implement({
      description: 'The thread that was opened.',
      fields: (t) => ({
        thread: t.expose('thread', { type: Thread, description: 'The thread after the mutation.' }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError', 'ConflictError'],
    run: async (ctx, input) => ({ thread: await createThread(ctx, input as CreateThreadInput) }),
  })
}

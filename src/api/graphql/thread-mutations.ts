/** Threads that are opened, and messages that are added to them, in GraphQL. */
import type { ObjectRef } from '@pothos/core'
import {
  addThreadMessage,
  createThread,
  type AddThreadMessageInput,
  type CreateThreadInput,
  type Thread,
  type ThreadMessage,
} from '../../domain/generations/index.ts'
import type { BuilderTypes } from './builder.ts'
import type { FileTypes } from './files.ts'
import type { addGenerationInput } from './generation-input.ts'
import type { addGenerations } from './generations.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'

/** The types that threads refer to. */
export type ThreadTypes = ReturnType<typeof addGenerations> &
  ReturnType<typeof addGenerationInput> & { AttachmentInput: FileTypes['Attachment'] }

export function addThreadMutations(
  refs: Refs,
  types: ThreadTypes,
  Message: ObjectRef<BuilderTypes, ThreadMessage>,
): void {
  addCreate(refs, types)
  addMessage(refs, types, Message)
}

function addCreate(refs: Refs, { MessageInput }: ThreadTypes): void {
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

function addMessage(
  refs: Refs,
  { AttachmentInput }: ThreadTypes,
  Message: ObjectRef<BuilderTypes, ThreadMessage>,
): void {
  const { builder, MessageRole } = refs
  addMutation(refs, {
    name: 'addThreadMessage',
    description:
      'Adds a message to a thread: it waits there for the next generation, which gets it before its own messages. ' +
      'At most 1,000 messages with 1 MiB wait. Permission: generations:Start.',
    input: builder.inputType('AddThreadMessageInput', {
      description: 'A message for a thread.',
      fields: (t) => ({
        threadId: t.id({ required: true, description: 'The id of the thread; it begins with thr_.' }),
        role: t.field({
          type: MessageRole,
          required: true,
          defaultValue: 'USER',
          description: 'The author of the message.',
        }),
        content: t.string({ required: true, description: 'The text, at most 500,000 characters.' }),
        attachments: t.field({
          type: [AttachmentInput],
          description: 'Files of a message of the user, at most 20. Default: none.',
        }),
        idempotencyKey: t.string({
          description:
            'A key of your own, 1 to 200 characters: a repeat with it returns the first message. Default: none.',
        }),
      }),
    }),
    payload: builder.objectRef<{ threadMessage: ThreadMessage }>('AddThreadMessagePayload').implement({
      description: 'The message that was added.',
      fields: (t) => ({
        threadMessage: t.expose('threadMessage', {
          type: Message,
          description: 'The message. Its id stays.',
        }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError', 'IdempotencyConflictError', 'LimitReachedError'],
    run: async (ctx, input) => ({
      threadMessage: await addThreadMessage(ctx, input as AddThreadMessageInput),
    }),
  })
}

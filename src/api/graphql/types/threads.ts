/** Threads in GraphQL: conversations of an agent, their messages and their generations. */
import { idOf } from '../../../core/shapes.ts'
import { z } from 'zod'
import { listGenerations, type Generation } from '../../../domain/generations/index.ts'
import {
  type ThreadMessage,
  listThreadMessages,
  messageRole,
  listThreads,
} from '../../../domain/threads/index.ts'
import { connectionOf, hasPrefix, listCost, page } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import type { addGenerationInput } from './generation-input.ts'
import type { addGenerations } from './generations.ts'
import { addById, addList } from '../builder/queries.ts'

/** The types that threads refer to. */
type ThreadTypes = ReturnType<typeof addGenerations> & ReturnType<typeof addGenerationInput>

export function addThreads(refs: Refs, types: ThreadTypes): void {
  const message = addMessageType(refs, types)
  addThreadType(refs, types, message)
  addQueries(refs)
}

function addMessageType({ builder, Generation, shapes }: Refs, { Attachment }: ThreadTypes) {
  return builder.objectRef<ThreadMessage>('ThreadMessage').implement({
    description: 'A message of a thread: of the user, or a text of the model.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the message; it begins with msg_.' }),
      role: t.expose('role', { type: shapes.choice(messageRole), description: 'The author of the message.' }),
      content: t.exposeString('content', { description: 'The text of the message.' }),
      attachments: t.expose('attachments', {
        type: [Attachment],
        description: 'The files of the message; a list without entries is empty.',
      }),
      generation: t.field({
        type: Generation,
        nullable: true,
        description:
          'The generation that got or wrote the message; null for a message that the thread was opened with.',
        resolve: ({ generationId }, _args, { loaders }) =>
          generationId === null ? null : loaders.generations.load(generationId),
      }),
      createdAt: t.expose('createdAt', {
        type: 'DateTime',
        description: 'When the generation of the message, or the thread, was created.',
      }),
    }),
  })
}

function addThreadType(
  refs: Refs,
  { Generations }: ThreadTypes,
  Message: ReturnType<typeof addMessageType>,
): void {
  const { builder, Thread, Agent } = refs
  const messages = connectionOf<ThreadMessage>(Message, 'ThreadMessage')
  Thread.implement({
    description: 'A conversation of an agent: its generations share their history.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'thr_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the thread; it begins with thr_.' }),
      externalId: t.exposeString('externalId', {
        nullable: true,
        description: 'The id that a client chose for the thread; null for other threads.',
      }),
      agent: t.field({
        type: Agent,
        nullable: true,
        description:
          'The agent as it is now; null when it was deleted or is hidden from this API key, and for a thread that was ' +
          'opened without an agent until its first generation.',
        resolve: ({ agentId }, _args, { loaders }) => (agentId ? loaders.agents.load(agentId) : null),
      }),
      createdBy: t.exposeID('createdBy', {
        nullable: true,
        description: 'The id of the API key or person that created the thread; null for older threads.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the thread was created.' }),
      closedAt: t.expose('closedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the thread was closed for new generations; null while it is open.',
      }),
      messages: t.field({
        type: messages,
        description:
          'The messages of the thread, oldest first: those that it was opened with, and the input and the texts of the ' +
          'model of each generation. Permission: generations:Get.',
        args: t.arg.connectionArgs(),
        complexity: listCost,
        resolve: (thread, args, { ctx }) => page(args, (p) => listThreadMessages(ctx, thread, p)),
      }),
      generations: t.field({
        type: Generations,
        description: 'The generations of the thread, newest first. Permission: generations:List.',
        args: t.arg.connectionArgs(),
        complexity: listCost,
        resolve: ({ projectId, id: threadId }, args, { ctx }) =>
          page(args, (p) => listGenerations(ctx, { projectId, filter: { threadId }, page: p })),
      }),
    }),
  })
  builder.objectField(refs.Generation, 'thread', (t) =>
    t.field({
      type: Thread,
      nullable: true,
      description: 'The thread of the generation; null when it is hidden from this API key.',
      resolve: ({ threadId }: Generation, _args, { loaders }) => loaders.threads.load(threadId),
    }),
  )
}

function addQueries(refs: Refs): void {
  const connection = connectionOf(refs.Thread, 'Thread')
  addById(refs, {
    name: 'thread',
    type: refs.Thread,
    kind: 'thread',
    words: 'A thread',
    permission: 'generations:Get',
    load: ({ threads }, id) => threads.load(id),
  })
  addList(refs, {
    name: 'threads',
    type: connection,
    description: 'The threads of an agent, newest first. Permission: generations:List.',
    args: {
      agentId: idOf('agent'),
      externalId: z.string().nullish().describe('Only the thread that the caller named so.'),
    },
    ofAnyProject: true,
    list: listThreads,
  })
}

/** Threads in GraphQL: conversations of an agent, their messages and their generations. */
import { idOf } from '../../../core/shapes.ts'
import { z } from 'zod'
import { listGenerations } from '../../../domain/generations/index.ts'
import { listThreadMessages, listThreads, threadMessage, threadShape } from '../../../domain/threads/index.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import type { addGenerations } from './generations.ts'
import { addById, addList } from '../builder/queries.ts'

type GenerationTypes = ReturnType<typeof addGenerations>

export function addThreads(refs: Refs, types: GenerationTypes): void {
  addThreadType(refs, types)
  addQueries(refs)
}

function addThreadType(refs: Refs, { Generations }: GenerationTypes): void {
  const { shapes, Thread } = refs
  const messages = connectionOf(shapes.object(threadMessage), 'ThreadMessage')
  shapes.node(Thread, 'thread', threadShape, (t) => ({
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
  }))
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

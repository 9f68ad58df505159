/** Child runs and retries of generations in GraphQL, and the open calls of a generation with its child runs. */
import { listDescendants, listGenerations, type Generation } from '../../../domain/generations/index.ts'
import { isOpen, type ToolCall } from '../../../domain/tool-calls/index.ts'
import { listCost, page, type connectionOf } from '../builder/connections.ts'
import type { Loaders } from '../builder/context.ts'
import type { Refs } from '../builder/refs.ts'

/** The open calls of the generation, and those of its child runs that wait for a client or an approver. */
export async function openCalls({ id }: Generation, loaders: Loaders): Promise<ToolCall[]> {
  const own = (await loaders.openCallsOf.load(id)).filter(isOpen)
  const hasChildren = own.some((call) => call.childId !== null)
  return hasChildren ? [...own, ...(await loaders.askedUnder.load(id))] : own
}

type Connection = ReturnType<typeof connectionOf<Generation>>

/** Adds children and descendants to Generation, and what it retries and is retried by. */
export function addChain(refs: Refs, connection: Connection): void {
  const { builder } = refs
  builder.objectFields(refs.Generation, (t) => ({
    retryOf: t.field({
      type: refs.Generation,
      nullable: true,
      description:
        'The generation whose history this one began with, as startGeneration said with retryOf; null for a generation ' +
        'that is no retry.',
      resolve: ({ retryOf }, _args, { loaders }) =>
        retryOf ? loaders.generations.load(retryOf.generationId) : null,
    }),
    retryStep: t.int({
      nullable: true,
      description:
        'The last step of retryOf that is in the history of this generation; 0 when it began before the input of ' +
        'retryOf, null for a generation that is no retry.',
      resolve: ({ retryOf }) => retryOf?.step ?? null,
    }),
    retries: t.field({
      type: connection,
      nullable: true,
      description:
        'The generations that were started as retries of this one, newest first; null when this API key may not list ' +
        'generations. Permission: generations:List.',
      args: t.arg.connectionArgs(),
      complexity: listCost,
      resolve: ({ id, projectId }, args, { ctx }) =>
        page(args, (p) => listGenerations(ctx, { projectId, retryOfId: id, page: p })),
    }),
    children: t.field({
      type: connection,
      description: 'The child runs that tool calls of this generation started, newest first.',
      args: t.arg.connectionArgs(),
      complexity: listCost,
      resolve: (generation, args, { ctx }) =>
        page(args, (p) =>
          listGenerations(ctx, { projectId: generation.projectId, parentId: generation.id, page: p }),
        ),
    }),
    descendants: t.field({
      type: connection,
      description:
        'All child runs below this generation in one list: its own, then theirs, each level oldest first, so that ' +
        'a parent precedes its children. One generation has at most 100.',
      args: t.arg.connectionArgs(),
      complexity: listCost,
      resolve: (generation, args, { ctx }) => page(args, (p) => listDescendants(ctx, generation, p)),
    }),
  }))
}

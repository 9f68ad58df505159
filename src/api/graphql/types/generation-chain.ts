/** Parents, roots, child runs and retries of generations in GraphQL, and the open calls of a generation with its child runs. */
import { listDescendants, listGenerations, type Generation } from '../../../domain/generations/index.ts'
import { isOpen, type ToolCall } from '../../../domain/tool-calls/index.ts'
import { listCost, page, type connectionOf } from '../builder/connections.ts'
import type { GraphQLContext, Loaders } from '../builder/context.ts'
import type { Refs } from '../builder/refs.ts'

/** The open calls of the generation, and those of its child runs that wait for a client or an approver. */
export async function openCalls({ id }: Generation, loaders: Loaders): Promise<ToolCall[]> {
  const own = (await loaders.openCallsOf.load(id)).filter(isOpen)
  const hasChildren = own.some((call) => call.childId !== null)
  return hasChildren ? [...own, ...(await loaders.askedUnder.load(id))] : own
}

type Connection = ReturnType<typeof connectionOf<Generation>>

/** Adds parent, root, depth, children and descendants to Generation, and what it retries and is retried by. */
export function addChain(refs: Refs, connection: Connection): void {
  const { builder } = refs
  const of = (pick: (generation: Generation) => string | null, description: string) => ({
    type: refs.Generation,
    nullable: true as const,
    description,
    resolve: (generation: Generation, _args: object, { loaders }: GraphQLContext) => {
      const id = pick(generation)
      return id === null ? null : loaders.generations.load(id)
    },
  })
  builder.objectFields(refs.Generation, (t) => ({
    parent: t.field(
      of(
        (generation) => generation.parentId,
        'The generation whose tool call started this one; null for a generation without a parent.',
      ),
    ),
    root: t.field(
      of(
        (generation) => generation.rootId,
        'The topmost ancestor of the generation; null for a generation without a parent.',
      ),
    ),
    depth: t.exposeInt('depth', { description: 'The number of ancestors, at most 4.' }),
    retryOf: t.field(
      of(
        ({ retryOf }) => retryOf?.generationId ?? null,
        'The generation whose history this one began with, as startGeneration said with retryOf; null for a generation ' +
          'that is no retry.',
      ),
    ),
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

/** Runs within runs on the wire: the chain that a generation stands in, and what is open under it. */
import { listGenerations, type Generation } from '../../domain/generations/index.ts'
import { isOpen, type ToolCall } from '../../domain/tool-calls/index.ts'
import { listCost, page, type connectionOf } from './connections.ts'
import type { GraphQLContext, Loaders } from './context.ts'
import type { Refs } from './refs.ts'

/** The calls that somebody is waited for: its own, and those of the runs under it. */
export async function openCalls({ id }: Generation, loaders: Loaders): Promise<ToolCall[]> {
  const own = (await loaders.openCallsOf.load(id)).filter(isOpen)
  const hasRuns = own.some((call) => call.childId !== null)
  return hasRuns ? [...own, ...(await loaders.askedUnder.load(id))] : own
}

type Connection = ReturnType<typeof connectionOf<Generation>>

/** Adds to Generation what tells of its chain. */
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
      of((generation) => generation.parentId, 'The run that asked for this one; null for any other.'),
    ),
    root: t.field(
      of((generation) => generation.rootId, 'The first run of its chain; null for that one itself.'),
    ),
    depth: t.exposeInt('depth', { description: 'Runs above it, at most 4.' }),
    children: t.field({
      type: connection,
      description: 'The runs that it asked for, newest first.',
      args: t.arg.connectionArgs(),
      complexity: listCost,
      resolve: (generation, args, { ctx }) =>
        page(args, (p) =>
          listGenerations(ctx, { projectId: generation.projectId, parentId: generation.id, page: p }),
        ),
    }),
  }))
}

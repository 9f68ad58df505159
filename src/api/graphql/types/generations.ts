/** The queries of generations in GraphQL. */
import { generationFilter, listGenerations, type Generation } from '../../../domain/generations/index.ts'
import { actionMark, listOf, shown } from '../builder/action-mark.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'
import type { EventTypes } from './events.ts'
import { addChain } from './generation-chain.ts'
import { addGenerationTally } from './generation-tally.ts'
import { addGenerationTypes } from './generation-objects.ts'
import type { Refs } from '../builder/refs.ts'

export function addGenerations(refs: Refs, events: EventTypes) {
  addGenerationTypes(refs, events)
  const connection = connectionOf(refs.Generation, 'Generation')
  addChain(refs, connection)
  addQueries(refs, connection)
  return { Generations: connection }
}

function addQueries(refs: Refs, connection: ReturnType<typeof connectionOf<Generation>>): void {
  const { builder } = refs
  addGenerationTally(refs)
  builder.queryField('generation', (t) =>
    t.field({
      ...actionMark(shown.generation),
      type: refs.Generation,
      nullable: true,
      description:
        'A generation by id; null when it does not exist for this API key. Permission: generations:Get.',
      args: {
        id: t.arg.id({ required: true, description: 'The id of the generation; it begins with gen_.' }),
      },
      resolve: (_root, { id }, { loaders }) => loaders.generations.load(id),
    }),
  )
  builder.queryField('generations', (t) =>
    t.field({
      ...actionMark(listOf(shown.generation)),
      type: connection,
      description: 'The generations of a project, newest first. Permission: generations:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        filter: t.arg({
          type: refs.shapes.part(generationFilter),
          description: 'Only generations that match all given fields.',
        }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, filter, ...args }, { ctx }) =>
        page(args, (p) => listGenerations(ctx, { projectId, filter, page: p })),
    }),
  )
}

/** The queries of generations in GraphQL. */
import { listGenerations, type Generation, type GenerationFilter } from '../../../domain/generations/index.ts'
import { actionMark, listOf, shown } from '../builder/action-mark.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'
import type { EventTypes } from './events.ts'
import { joined } from '../builder/filters.ts'
import { addChain } from './generation-chain.ts'
import type { GenerationEnums } from './generation-enums.ts'
import { addCancelMany } from './cancel-many.ts'
import { filterInput } from './generation-filter.ts'
import { addGenerationTally } from './generation-tally.ts'
import { addGenerationTypes } from './generation-objects.ts'
import type { Refs } from '../builder/refs.ts'

export function addGenerations(refs: Refs, events: EventTypes) {
  const enums = addGenerationTypes(refs, events)
  const connection = connectionOf(refs.Generation, 'Generation')
  addChain(refs, connection)
  addQueries(refs, enums, connection)
  return { Generations: connection }
}

function addQueries(
  refs: Refs,
  Status: GenerationEnums,
  connection: ReturnType<typeof connectionOf<Generation>>,
): void {
  const { builder } = refs
  const Filter = filterInput(refs, Status)
  addCancelMany(refs, Filter)
  addGenerationTally(refs, Filter)
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
        agentId: t.arg.id({ description: 'Only generations of the agent with this id.' }),
        threadId: t.arg.id({ description: 'Only generations of the thread with this id.' }),
        status: t.arg({ type: Status.status, description: 'Only generations with this status.' }),
        filter: t.arg({ type: Filter, description: 'Only generations that match all given fields.' }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, agentId, threadId, status, filter, ...args }, { ctx }) =>
        page(args, (p) => {
          const statuses = status ? [status] : null
          const all = joined<GenerationFilter>(filter, { agentId, threadId, statuses })
          return listGenerations(ctx, { projectId, filter: all, page: p })
        }),
    }),
  )
}

/** The queries of generations in GraphQL, and their numbers: of all that a list has, and of each agent in it. */
import {
  generationFilter,
  listGenerations,
  type Generation,
  tallyGenerations,
  generationTally,
} from '../../../domain/generations/index.ts'
import { shown } from '../builder/action-mark.ts'
import { connectionOf } from '../builder/connections.ts'
import type { EventTypes } from './events.ts'
import { addChain } from './generation-chain.ts'
import { addGenerationTypes } from './generation-objects.ts'
import type { Refs } from '../builder/refs.ts'
import { addById, addList } from '../builder/queries.ts'

export function addGenerations(refs: Refs, events: EventTypes) {
  addGenerationTypes(refs, events)
  const connection = connectionOf(refs.Generation, 'Generation')
  addChain(refs, connection)
  addQueries(refs, connection)
  return { Generations: connection }
}

function addQueries(refs: Refs, connection: ReturnType<typeof connectionOf<Generation>>): void {
  addGenerationTally(refs)
  addById(refs, {
    name: 'generation',
    type: refs.Generation,
    kind: 'generation',
    words: 'A generation',
    permission: 'generations:Get',
    action: shown.generation,
    load: ({ generations }, id) => generations.load(id),
  })
  addList(refs, {
    name: 'generations',
    type: connection,
    description: 'The generations of a project, newest first. Permission: generations:List.',
    args: {
      filter: generationFilter.nullish().describe('Only generations that match all given fields.'),
    },
    action: shown.generation,
    list: listGenerations,
  })
}

function addGenerationTally(refs: Refs): void {
  const { builder } = refs
  builder.queryField('generationTally', (t) =>
    t.field({
      type: refs.shapes.object(generationTally),
      description:
        'How many generations a list has, by what has become of them and by agent. Permission: generations:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        filter: t.arg({
          type: refs.shapes.part(generationFilter),
          description: 'Only generations that match all given fields.',
        }),
      },
      resolve: (_root, args, { ctx }) => tallyGenerations(ctx, args),
    }),
  )
}

/** The queries of generations in GraphQL. */
import { generationFilter, listGenerations, type Generation } from '../../../domain/generations/index.ts'
import { shown } from '../builder/action-mark.ts'
import { connectionOf } from '../builder/connections.ts'
import type { EventTypes } from './events.ts'
import { addChain } from './generation-chain.ts'
import { addGenerationTally } from './generation-tally.ts'
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

/** Numbers of generations in GraphQL: of all that a list has, and of each agent in it. */
import {
  generationFilter,
  tallyGenerations,
  type GenerationGroup,
  type GenerationNumbers,
  type GenerationTally,
} from '../../../domain/generations/index.ts'
import type { BuilderTypes } from '../builder/builder.ts'
import type { Refs } from '../builder/refs.ts'

function numbers<Row extends GenerationNumbers>(t: PothosSchemaTypes.ObjectFieldBuilder<BuilderTypes, Row>) {
  const of = (name: keyof GenerationNumbers, what: string) =>
    t.int({ description: `The number of generations that ${what}.`, resolve: (row) => row[name] })
  return {
    completed: of('completed', 'completed'),
    failed: of('failed', 'failed'),
    cancelled: of('cancelled', 'were cancelled'),
    expired: of('expired', 'reached their deadline'),
    open: of('open', 'have not ended'),
  }
}

export function addGenerationTally(refs: Refs): void {
  const { builder } = refs
  const Group = builder.objectRef<GenerationGroup>('GenerationGroup').implement({
    description: 'Numbers of generations by what has become of them, of one agent or of all.',
    fields: (t) => ({
      id: t.exposeID('id', {
        nullable: true,
        description: 'The id of the agent, which may be deleted by now; null for all agents.',
      }),
      agent: t.field({
        type: refs.Agent,
        nullable: true,
        description:
          'The agent; null for all agents, and when it was deleted or is hidden from this API key.',
        resolve: ({ id }, _args, { loaders }) => (id === null ? null : loaders.agents.load(id)),
      }),
      ...numbers(t),
    }),
  })
  const Tally = builder.objectRef<GenerationTally>('GenerationTally').implement({
    description: 'How many generations a list has.',
    fields: (t) => ({
      total: t.expose('total', { type: Group, description: 'The generations of the list.' }),
      groups: t.expose('groups', {
        type: [Group],
        description: 'The groups, those with the most generations first.',
      }),
      isComplete: t.exposeBoolean('isComplete', {
        description: 'Whether everything was counted: counting stops at 10,000 generations.',
      }),
    }),
  })
  builder.queryField('generationTally', (t) =>
    t.field({
      type: Tally,
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

/** Numbers of generations in GraphQL: of all that a list has, and of each agent in it. */
import { generationFilter, tallyGenerations, generationTally } from '../../../domain/generations/index.ts'
import type { Refs } from '../builder/refs.ts'

export function addGenerationTally(refs: Refs): void {
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

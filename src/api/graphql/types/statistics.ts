/** The statistics of a project in GraphQL. */
import {
  bucketSize,
  mostBuckets,
  projectSummary,
  readStatistics,
  summariseProject,
  statistics,
  spendingShape,
} from '../../../domain/statistics/index.ts'
import type { Refs } from '../builder/refs.ts'

/** The cost of the query in points: five statements over at most 25,000 rows each. */
const points = 500

export function addStatistics(refs: Refs): void {
  const { builder, shapes } = refs
  shapes.implement(refs.Spending, spendingShape)
  builder.queryField('statistics', (t) =>
    t.field({
      type: shapes.object(statistics),
      description:
        'Figures of a project over time: generations, tokens, money, verdicts and failing tools. Permission: ' +
        'generations:List, approvals:List and toolCalls:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        from: t.arg({
          type: 'DateTime',
          description: 'The beginning of the range. Default: 24 hours before its end, or 30 days for DAY.',
        }),
        to: t.arg({ type: 'DateTime', description: 'The end of the range. Default: now.' }),
        bucket: t.arg({
          type: shapes.choice(bucketSize),
          description: `The length of a bucket; a range has at most ${mostBuckets}. Default: HOUR.`,
        }),
      },
      complexity: points,
      resolve: (_root, args, { ctx }) => readStatistics(ctx, args),
    }),
  )
}

/** The summary of a project in GraphQL. */
export function addProjectSummary({ builder, shapes }: Refs): void {
  builder.queryField('projectSummary', (t) =>
    t.field({
      type: shapes.object(projectSummary),
      description:
        'Numbers of what runs in a project and what waits for people. Permission: approvals:List, toolCalls:List, ' +
        'tools:List and generations:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
      },
      resolve: (_root, args, { ctx }) => summariseProject(ctx, args),
    }),
  )
}

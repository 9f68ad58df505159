/** The statistics of a project in GraphQL. */
import { bucketSize, mostBuckets, readStatistics, statistics } from '../../../domain/statistics/index.ts'
import type { Refs } from '../builder/refs.ts'
import { modelPrice } from '../../../domain/models/index.ts'

/** The cost of the query in points: five statements over at most 25,000 rows each. */
const points = 500

export function addStatistics(refs: Refs): void {
  const { builder, shapes } = refs
  addSpending(refs)
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

function addSpending(refs: Refs): void {
  refs.Spending.implement({
    description: 'What the generations of one agent cost with one model.',
    fields: (t) => ({
      agentId: t.exposeID('agentId', { description: 'The id of the agent, which may be deleted by now.' }),
      agent: t.field({
        type: refs.Agent,
        nullable: true,
        description: 'The agent; null when it is deleted or hidden from the caller.',
        resolve: ({ agentId }, _args, { loaders }) => loaders.agents.load(agentId),
      }),
      model: t.exposeString('model', { description: 'The model as provider/model.' }),
      runs: t.exposeInt('runs', {
        description: 'The number of generations whose last step asked the model.',
      }),
      inputTokens: t.exposeFloat('inputTokens', {
        description: 'The number of tokens that the model read, cached ones included.',
      }),
      cachedInputTokens: t.exposeFloat('cachedInputTokens', {
        description: 'The number of tokens that the provider read from its cache.',
      }),
      outputTokens: t.exposeFloat('outputTokens', {
        description: 'The number of tokens that the model wrote.',
      }),
      price: t.expose('price', {
        type: refs.shapes.object(modelPrice),
        nullable: true,
        description: 'The price of the model; null: the model has none.',
      }),
      cost: t.exposeFloat('cost', {
        nullable: true,
        description: 'The cost in USD; null: the model has no price, so the cost is unknown.',
      }),
    }),
  })
}

/** The statistics of a project in GraphQL. */
import {
  type Bucket,
  type Spending,
  type Statistics,
  type ToolFigures,
  bucketSizes,
  mostBuckets,
  mostSpending,
  mostTools,
  readStatistics,
} from '../../../domain/statistics/index.ts'
import { described } from '../builder/described.ts'
import type { Refs } from '../builder/refs.ts'
import { modelPrice } from '../../../domain/models/index.ts'

/** The cost of the query in points: five statements over at most 25,000 rows each. */
const points = 500

const cost =
  'The cost in USD of the tokens of these generations at the prices of now; models without a price are left out.'
const unpriced = 'The number of tokens of these generations whose model has no price.'
const verdictP50 = 'The median time from question to verdict, in seconds; null without a verdict.'
const verdictP90 =
  'The time from question to verdict that nine of ten verdicts did not exceed, in seconds; null without a verdict.'

export function addStatistics(refs: Refs): void {
  const { builder } = refs
  const Size = builder.enumType('StatisticsBucketSize', {
    description: 'The length of a bucket of statistics.',
    values: described(bucketSizes, { HOUR: 'A bucket is one hour.', DAY: 'A bucket is 24 hours.' }),
  })
  const Figures = builder.objectRef<Statistics>('Statistics').implement({
    description: 'What happened in a project in a range of time.',
    fields: (t) => ({
      from: t.expose('from', { type: 'DateTime', description: 'The beginning of the range.' }),
      to: t.expose('to', { type: 'DateTime', description: 'The end of the range, which is not part of it.' }),
      complete: t.exposeBoolean('complete', {
        description:
          'Whether everything in the range is counted; false when it has more than 25,000 generations, approvals or ' +
          'tool calls, of which the oldest are missing, or some were removed by retention.',
      }),
      verdictP50: t.exposeFloat('verdictP50', { nullable: true, description: verdictP50 }),
      verdictP90: t.exposeFloat('verdictP90', { nullable: true, description: verdictP90 }),
      buckets: t.expose('buckets', {
        type: [bucketType(refs)],
        description: `The buckets of the range, oldest first, empty ones included; at most ${mostBuckets}.`,
      }),
      cost: t.exposeFloat('cost', { description: cost }),
      unpricedTokens: t.exposeFloat('unpricedTokens', { description: unpriced }),
      spending: t.expose('spending', {
        type: [spendingType(refs)],
        description: `What agents cost, by model, the most expensive first; at most ${mostSpending}.`,
      }),
      tools: t.expose('tools', {
        type: [toolType(refs)],
        description: `The tools that were called, those whose calls failed most first, at most ${mostTools}.`,
      }),
    }),
  })
  builder.queryField('statistics', (t) =>
    t.field({
      type: Figures,
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
          type: Size,
          description: `The length of a bucket; a range has at most ${mostBuckets}. Default: HOUR.`,
        }),
      },
      complexity: points,
      resolve: (_root, args, { ctx }) => readStatistics(ctx, args),
    }),
  )
}

function bucketType({ builder }: Refs) {
  return builder.objectRef<Bucket>('StatisticsBucket').implement({
    description: 'What began within one bucket of time, by what has become of it.',
    fields: (t) => ({
      start: t.expose('start', { type: 'DateTime', description: 'The beginning of the bucket.' }),
      completed: t.exposeInt('completed', { description: 'The number of generations that completed.' }),
      failed: t.exposeInt('failed', { description: 'The number of generations that failed.' }),
      cancelled: t.exposeInt('cancelled', { description: 'The number of generations that were cancelled.' }),
      expired: t.exposeInt('expired', {
        description: 'The number of generations that reached their deadline.',
      }),
      open: t.exposeInt('open', { description: 'The number of generations that have not ended.' }),
      inputTokens: t.exposeFloat('inputTokens', {
        description: 'The number of tokens that the models of these generations read.',
      }),
      outputTokens: t.exposeFloat('outputTokens', {
        description: 'The number of tokens that the models of these generations wrote.',
      }),
      cost: t.exposeFloat('cost', { description: cost }),
      unpricedTokens: t.exposeFloat('unpricedTokens', { description: unpriced }),
      approvals: t.exposeInt('approvals', { description: 'The number of approvals that were requested.' }),
      approvalsExpired: t.exposeInt('approvalsExpired', {
        description: 'The number of these approvals that got no verdict in time.',
      }),
      verdictP50: t.exposeFloat('verdictP50', { nullable: true, description: verdictP50 }),
      verdictP90: t.exposeFloat('verdictP90', { nullable: true, description: verdictP90 }),
    }),
  })
}

function toolType({ builder }: Refs) {
  return builder.objectRef<ToolFigures>('ToolStatistics').implement({
    description: 'The calls of one tool in a range of time.',
    fields: (t) => ({
      name: t.exposeString('name', { description: 'The runtime name of the tool.' }),
      calls: t.exposeInt('calls', { description: 'The number of calls of the tool.' }),
      errors: t.exposeInt('errors', {
        description: 'The number of calls that failed or had invalid arguments.',
      }),
      unknown: t.exposeInt('unknown', { description: 'The number of calls with status UNKNOWN.' }),
      seconds: t.exposeFloat('seconds', {
        description:
          'The time from the first sending of a call to its outcome, in seconds, of all settled calls together.',
      }),
      cost: t.exposeFloat('cost', {
        description:
          'The cost in USD of the model steps whose response asked for these calls, at the prices of now; the calls of one ' +
          'step have equal parts of it, whichever tools they are of. Models without a price are left out.',
      }),
      unpricedTokens: t.exposeFloat('unpricedTokens', {
        description: 'The number of tokens of these parts whose model has no price.',
      }),
    }),
  })
}

function spendingType(refs: Refs) {
  return refs.builder.objectRef<Spending>('Spending').implement({
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

/** Rate limits in GraphQL: the list of a project. */
import { listRateLimits, rateLimit } from '../../../domain/access/index.ts'
import type { Refs } from './refs.ts'

export function addLimits(refs: Refs): void {
  const { builder } = refs
  refs.shapes.implement(refs.RateLimit, rateLimit)
  builder.queryField('rateLimits', (t) =>
    t.field({
      type: [refs.RateLimit],
      description: 'The rate limits that are set in a project, at most 1,000. Permission: limits:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
      },
      resolve: (_root, args, { ctx }) => listRateLimits(ctx, args),
    }),
  )
}

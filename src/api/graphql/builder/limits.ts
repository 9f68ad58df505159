/** Rate limits in GraphQL: the list of a project. */
import { limitScope, listRateLimits } from '../../../domain/access/index.ts'
import type { Refs } from './refs.ts'

export function addLimits(refs: Refs): void {
  const { builder } = refs
  refs.RateLimit.implement({
    description: 'A rate limit over all replicas together: a token bucket that refills evenly.',
    fields: (t) => ({
      scope: t.expose('scope', {
        type: refs.shapes.choice(limitScope),
        description: 'What the limit counts.',
      }),
      targetId: t.exposeID('targetId', { description: 'The id of the project, API key, agent or tool.' }),
      perMinute: t.exposeInt('perMinute', { description: 'Requests, starts or calls per minute.' }),
      burst: t.exposeInt('burst', { description: 'Requests, starts or calls that may happen at once.' }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the limit was last set.' }),
    }),
  })
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

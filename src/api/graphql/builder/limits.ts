/** Rate limits in GraphQL: the list of a project, and setRateLimit. */
import { limitScopes, listRateLimits, setRateLimit, type RateLimit } from '../../../domain/access/index.ts'
import { described } from './described.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'

export function addLimits(refs: Refs): void {
  const { builder } = refs
  const Scope = builder.enumType('RateLimitScope', {
    description: 'What a rate limit counts.',
    values: described(limitScopes, {
      PROJECT: 'All requests of all API keys of the project together.',
      KEY: 'All requests of one API key; each message of an MCP batch counts.',
      AGENT: 'Starts of generations of one agent, by any caller.',
      TOOL:
        'Calls of one tool. A direct call beyond the limit is refused with retryAfterMs; a call of a ' +
        'generation waits.',
    }),
  })
  const Limit = builder.objectRef<RateLimit>('RateLimit').implement({
    description: 'A rate limit over all replicas together: a token bucket that refills evenly.',
    fields: (t) => ({
      scope: t.expose('scope', { type: Scope, description: 'What the limit counts.' }),
      targetId: t.exposeID('targetId', { description: 'The id of the project, API key, agent or tool.' }),
      perMinute: t.exposeInt('perMinute', { description: 'Requests, starts or calls per minute.' }),
      burst: t.exposeInt('burst', { description: 'Requests, starts or calls that may happen at once.' }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the limit was last set.' }),
    }),
  })
  builder.queryField('rateLimits', (t) =>
    t.field({
      type: [Limit],
      description: 'The rate limits that are set in a project, at most 1,000. Permission: limits:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
      },
      resolve: (_root, args, { ctx }) => listRateLimits(ctx, args),
    }),
  )
  addMutation(refs, {
    name: 'setRateLimit',
    description:
      'Sets the rate limit of a project, API key, agent or tool, over all replicas together; without ' +
      'perMinute it is removed. Permission: limits:Set.',
    input: builder.inputType('SetRateLimitInput', {
      description: 'A rate limit to set or remove.',
      fields: (t) => ({
        projectId: t.id({ description: 'The id of the project. Default: the project of the API key.' }),
        scope: t.field({ type: Scope, required: true, description: 'What the limit counts.' }),
        targetId: t.id({ description: 'The id of the API key, agent or tool; not given for PROJECT.' }),
        perMinute: t.int({
          description: 'Requests, starts or calls per minute, from 1. When left out, the limit is removed.',
        }),
        burst: t.int({
          description: 'Requests, starts or calls that may happen at once. Default: perMinute.',
        }),
      }),
    }),
    payload: builder.objectRef<{ rateLimit: RateLimit | null }>('SetRateLimitPayload').implement({
      description: 'The rate limit after the change.',
      fields: (t) => ({
        rateLimit: t.expose('rateLimit', {
          type: Limit,
          nullable: true,
          description: 'The rate limit; null when it was removed.',
        }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError'],
    run: async (ctx, input) => ({
      rateLimit: await setRateLimit(ctx, input as Parameters<typeof setRateLimit>[1]),
    }),
  })
}

/** Rate limits on the wire: what was set, and setting it. */
import { limitScopes, listRateLimits, setRateLimit, type RateLimit } from '../../domain/access/index.ts'
import { described } from './described.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'

export function addLimits(refs: Refs): void {
  const { builder } = refs
  const Scope = builder.enumType('RateLimitScope', {
    description: 'What a rate limit is for.',
    values: described(limitScopes, {
      PROJECT: 'All requests of all keys of the project together.',
      KEY: 'All requests of one key; a batch of MCP counts each of its messages.',
      AGENT: 'Runs of one agent that are started, whoever starts them.',
      TOOL: 'Calls of one tool. A direct call beyond it is refused with the time to wait; inside a run the call waits by itself.',
    }),
  })
  const Limit = builder.objectRef<RateLimit>('RateLimit').implement({
    description: 'How often something may happen, on all replicas together: a bucket that fills evenly.',
    fields: (t) => ({
      scope: t.expose('scope', { type: Scope, description: 'What it is for.' }),
      targetId: t.exposeID('targetId', { description: 'The project, key, agent or tool.' }),
      perMinute: t.exposeInt('perMinute', { description: 'How many come back in a minute.' }),
      burst: t.exposeInt('burst', { description: 'How many may come at once.' }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was set.' }),
    }),
  })
  builder.queryField('rateLimits', (t) =>
    t.field({
      type: [Limit],
      description: 'The rate limits that were set in a project; at most 1,000.',
      args: { projectId: t.arg.id({ description: "The project; the key's own when left out." }) },
      resolve: (_root, args, { ctx }) => listRateLimits(ctx, args),
    }),
  )
  addMutation(refs, {
    name: 'setRateLimit',
    description:
      'Sets how often a project, key, agent or tool may be used, on all replicas together. Without perMinute the limit is removed.',
    input: builder.inputType('SetRateLimitInput', {
      description: 'A rate limit.',
      fields: (t) => ({
        projectId: t.id({ description: "The project; the key's own when left out." }),
        scope: t.field({ type: Scope, required: true, description: 'What it is for.' }),
        targetId: t.id({ description: 'The key, agent or tool; left out for PROJECT.' }),
        perMinute: t.int({
          description: 'How many come back in a minute, from 1; removes the limit when left out.',
        }),
        burst: t.int({ description: 'How many may come at once; perMinute when left out.' }),
      }),
    }),
    payload: builder.objectRef<{ rateLimit: RateLimit | null }>('SetRateLimitPayload').implement({
      description: 'The limit as it is now.',
      fields: (t) => ({
        rateLimit: t.expose('rateLimit', {
          type: Limit,
          nullable: true,
          description: 'The limit; null when it was removed.',
        }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError'],
    run: async (ctx, input) => ({
      rateLimit: await setRateLimit(ctx, input as Parameters<typeof setRateLimit>[1]),
    }),
  })
}

/** The feed of a project as a query: pages whose end cursor a subscription goes on from. */
import { listProjectEvents } from '../../../domain/projects/index.ts'
import { encodeFeedCursor } from '../../../domain/events/index.ts'
import { pageSizes } from '../builder/builder.ts'
import { firstOf, sizeOf } from './call-pages.ts'
import type { EventTypes } from './events.ts'
import type { EventShape, Refs } from '../builder/refs.ts'

export function addEventPages({ builder }: Refs, types: EventTypes): void {
  const Filter = builder.inputType('ProjectEventFilter', {
    description: 'Which events of a project are listed: those that match all given fields.',
    fields: (t) => ({
      types: t.field({
        type: [types.EventType],
        description: 'Only events of these types. Default: all types.',
      }),
      toolId: t.id({ description: 'Only events of the tool with this id, and of its calls and approvals.' }),
      agentId: t.id({
        description: 'Only events of the agent with this id, and of its generations and calls.',
      }),
      generationId: t.id({ description: 'Only events of the generation with this id.' }),
    }),
  })
  builder.queryField('projectEvents', (t) =>
    t.field({
      type: types.EventConnection,
      description:
        'The events of a project after a cursor, oldest first, without TEXT_DELTA; the subscription projectEvents has ' +
        'the same cursors and continues after pageInfo.endCursor. A page searches at most 5,000 events, so it may have ' +
        'fewer entries than first while hasNextPage is true. ' +
        'Permission: events:Subscribe.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        filter: t.arg({ type: Filter, description: 'Only events that match all given fields.' }),
        after: t.arg.string({
          description:
            'The cursor of an event, or Project.feedCursor: only events after it. Fails with ' +
            'CURSOR_EXPIRED when its event is no longer in the log. Default: from the first event.',
        }),
        first: t.arg.int({
          description: `Number of entries, 0 to ${pageSizes.maximum}. Default: ${pageSizes.default}.`,
        }),
      },
      complexity: ({ first }) => firstOf(pageSizes.maximum)({ first: first ?? pageSizes.default }),
      resolve: async (_root, { projectId, filter, after, first }, { ctx }) => {
        const size = sizeOf(first ?? pageSizes.default, pageSizes.maximum)
        const page = await listProjectEvents(ctx, { ...filter, projectId, after, first: size })
        const edges = page.events.map((node) => {
          const cursor = encodeFeedCursor(node)
          return { cursor, node: { ...node, cursor } as EventShape }
        })
        const pageInfo = {
          hasNextPage: page.more,
          // The log has no pages backwards.
          hasPreviousPage: false,
          startCursor: edges[0]?.cursor ?? null,
          endCursor: page.endCursor,
        }
        return { edges, pageInfo }
      },
    }),
  )
}

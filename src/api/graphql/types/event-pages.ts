/** Pages of events and of the calls of a run. */
import { invalidAt } from '../../../core/errors.ts'
import type { ToolCall } from '../../../domain/tool-calls/index.ts'
import { isGiven } from '../builder/connections.ts'
import type { Refs, EventShape } from '../builder/refs.ts'
import { listProjectEvents } from '../../../domain/projects/index.ts'
import { encodeFeedCursor } from '../../../domain/events/index.ts'
import { pageSizes } from '../builder/builder.ts'
import type { EventTypes } from './events.ts'

/** The arguments that page a list of tool calls. */
export function callPage(t: { arg: Arguments }, max: number) {
  return {
    first: t.arg.int({ description: `Maximum number of tool calls, 0 to ${max}. Default: ${max}.` }),
    after: t.arg.id({ description: 'Only tool calls after the one with this id.' }),
  }
}

type Arguments = Parameters<NonNullable<Parameters<Refs['builder']['queryField']>[1]>>[0]['arg']

/** The cost of such a list: the requested number of entries. */
export function firstOf(max: number) {
  return ({ first }: { first?: number | null | undefined }) => ({
    field: 1,
    multiplier: Math.max(1, Math.min(first ?? max, max)),
  })
}

/** The size of a page. Throws INVALID below 0 or above the maximum. */
export function sizeOf(first: number | null | undefined, max: number): number {
  if (isGiven(first) && (first < 0 || first > max)) throw invalidAt(['first'], `must be from 0 to ${max}`)
  return first ?? max
}

/** A page of a list of tool calls that is loaded as a whole. Throws INVALID for an `after` that is not in the list. */
export function callsAfter(
  calls: ToolCall[],
  { first, after }: { first?: number | null | undefined; after?: string | null | undefined },
  max: number,
): ToolCall[] {
  const size = sizeOf(first, max)
  const at = isGiven(after) ? calls.findIndex((call) => call.id === after) : -1
  if (isGiven(after) && at < 0) throw invalidAt(['after'], 'must be the id of a call in this list')
  return calls.slice(at + 1, at + 1 + size)
}

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

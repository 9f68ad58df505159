/** Searches the feed of a project page by page: each page reads a bounded part of the log. */
import { query, type Database } from '../db/database.ts'
import { sql, type SQL } from '../db/sql.ts'
import { startOf, startRow, isMarked, type Position } from './position.ts'
import { columns, expiredInFeed, incarnationOf, placeAt, rowOf, type EventRow, type Raw } from './read.ts'

/** Which events are searched for: those that match every field that is given. */
export interface FeedFilter {
  types?: readonly string[] | null | undefined
  toolId?: string | null | undefined
  agentId?: string | null | undefined
  generationId?: string | null | undefined
  /** Events that tell of what one of the principals of this query requested; null: of anything. */
  requesters?: SQL | null | undefined
}

export interface FeedSearch {
  events: EventRow[]
  /** Everything up to this event was searched; null: the feed has no event after the position. */
  end: EventRow | null
  /** More events are there after `end` right now. */
  more: boolean
}

/** The most events of the log that one page reads, matching or not. */
export const mostSearched = 5000

/**
 * At most `limit` events of a project after the position that match the filter, in the order of the feed. It reads at
 * most `mostSearched` events; when it stops there, the page may be empty although there are more. CURSOR_EXPIRED when
 * the position's event is gone or lies before the start of the feed. Copies in the log of a root are left out.
 */
export async function searchFeed(
  db: Database,
  projectId: string,
  after: Position,
  limit: number,
  filter: FeedFilter,
): Promise<FeedSearch> {
  const at = sql`${after.at}::bigint`
  const rows = await query<Raw & { part: number }>(
    db,
    sql`with part as materialized (
        select *
        from events
        where project_id = ${projectId} and position > ${at} and position > ${startOf(projectId)}
        order by events.position
        limit ${mostSearched + 1}
      ), searched as (
        select * from part order by part.position limit ${mostSearched}
      ), found as (
        select *
        from searched as e
        where not e.data ? 'descendantId' and ${matches(filter)}
        order by e.position
        limit ${limit + 1}
      )
      (${startRow(projectId, incarnationOf, -1)}) union all (
        select 0 as part, ${columns(sql`'null'::jsonb`)}
        from events
        where project_id = ${projectId} and position = ${at} and position > ${startOf(projectId)}
      ) union all (
        select 1 as part, ${columns()} from found
      ) union all (
        select 2 as part, ${columns(sql`'null'::jsonb`)} from searched where searched.position = (select max(position) from searched)
      ) union all (
        select 3 as part, ${columns(sql`'null'::jsonb`)} from part where part.position = (select max(position) from part)
      )
      order by part, position`,
  )
  const [start, there] = [-1, 0].map((wanted) => rows.find(({ part }) => part === wanted))
  if (after.event && !isMarked(there ?? placeAt(start, after), after.event))
    throw await expiredInFeed(db, projectId)
  return pageOf(rows, limit)
}

function pageOf(rows: (Raw & { part: number })[], limit: number): FeedSearch {
  const found = rows.filter(({ part }) => part === 1).map(rowOf)
  const events = found.slice(0, limit)
  const [searched, last] = [2, 3].map((wanted) => rows.find(({ part }) => part === wanted))
  if (found.length > limit) return { events, end: events.at(-1) ?? null, more: true }
  return { events, end: searched ? rowOf(searched) : null, more: last?.position !== searched?.position }
}

/**
 * The condition on an event `e`. What the event itself does not say, as the requester in one of the release before, is looked
 * up by primary key: with `exists` the planner might read a whole table to hash it.
 */
function matches({ types, toolId, agentId, generationId, requesters }: FeedFilter): SQL {
  const conditions = [sql`true`]
  if (types) conditions.push(types.length > 0 ? sql`e.type in ${[...types]}` : sql`false`)
  if (generationId) conditions.push(sql`e.generation_id = ${generationId}`)
  if (toolId)
    conditions.push(sql`(
        ${toolId} in (e.data->>'toolId', e.data->>'target')
        or ${toolId} = (select c.tool_id from tool_calls as c where c.id = e.data->>'toolCallId')
        or ${toolId} = (select a.tool_id from approvals as a where a.id = e.data->>'approvalId')
      )`)
  if (agentId)
    conditions.push(sql`(
        ${agentId} in (e.data->>'agentId', e.data->>'target')
        or ${agentId} = (select g.agent_id from generations as g where g.id = e.generation_id)
        or ${agentId} = (
          select coalesce(c.agent_id, g.agent_id)
          from tool_calls as c
          left join generations as g on g.id = c.generation_id
          where c.id = e.data->>'toolCallId'
        )
      )`)
  if (requesters)
    conditions.push(sql`coalesce(
        e.requested_by,
        (select g.requested_by from generations as g where g.id = e.generation_id),
        (select c.requested_by from tool_calls as c where c.id = e.data->>'toolCallId'),
        (select a.requested_by from approvals as a where a.id = e.data->>'approvalId'),
        (select f.created_by from files as f where f.id = e.data->>'fileId')
      ) = any(array(${requesters}))`)
  return sql.join(conditions, sql` and `)
}

/**
 * Deadlines: an approval that is not decided in time expires, and one that waits too long is escalated. While a pause holds
 * the call, its time begins anew instead. One statement
 * settles a batch, so that thousands due at the same moment are late by milliseconds only. Every process knows the next
 * deadline; row locks decide which process settles an approval.
 */
import { query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import type { Hint } from '../../store/pubsub/pubsub.ts'
import { areFree } from '../basis/index.ts'
import { systemId, type Services } from '../access/index.ts'
import {
  approvalEscalated,
  approvalExpired,
  approvalExtended,
  eventColumns,
  insertEventRows,
  isCopiedToRoot,
  toolCallSettled,
} from '../events/index.ts'
import { expireCalls } from '../tool-calls/index.ts'
import { expiredResult, loginExpiredResult } from './approval.ts'
import { settleLogins } from './logins.ts'

/**
 * Approvals settled by one statement: it occupies the embedded database for less than half a second. More batches
 * follow at once.
 */
const batch = 2000

interface SettledOwner {
  projectId: string
  generationId: string | null
  seq: number | null
  status: string | null
  /** How many approvals of this owner were settled or escalated. */
  n: number
}

/**
 * Expires and escalates everything that is due, batch by batch, and publishes hints after the last batch: the work
 * that they wake would delay the other batches. Safe at any time in any number of processes: only pending approvals
 * change, and their owner is locked first, as in every writer. Skips owners that another transaction has locked; the
 * next poll takes them.
 */
async function settleDue(services: Pick<Services, 'db' | 'pubsub'>, isStopped: () => boolean): Promise<void> {
  const hints: Hint[] = []
  try {
    for (let taken = batch; taken === batch && !isStopped();) {
      const rows = await query<SettledOwner>(services.db, statement())
      hints.push(...rows.flatMap(hintsOf))
      taken = rows.reduce((sum, row) => sum + row.n, 0)
    }
  } finally {
    if (hints.length > 0) services.pubsub.publish([...hints, { kind: 'work', table: 'generations' }])
  }
}

function hintsOf({ projectId, generationId, seq, status }: SettledOwner): Hint[] {
  const news: Hint = { kind: 'news', projectId, generationId, seq }
  return status === 'RUNNING' ? [news, { kind: 'signal', name: 'recheck', id: generationId! }] : [news]
}

/**
 * Settles what is due until stopped, including deadlines that passed while no process was running. `stop` waits for
 * the statement in flight.
 */
export function startDeadlines(services: Pick<Services, 'db' | 'pubsub' | 'schedule' | 'log'>): {
  stop(): Promise<void>
} {
  let stopped = false
  let settling: Promise<void> | null = null
  const settle = () => {
    settling ??= settleLogins(services)
      .then(() => settleDue(services, () => stopped))
      .catch((error: unknown) =>
        services.log.error(
          { err: error },
          'settling the deadlines of approvals failed; the next poll tries again',
        ),
      )
      .finally(() => (settling = null))
  }
  const leave = services.schedule.onDue('approvals', settle)
  settle()
  return {
    async stop() {
      stopped = true
      leave()
      await settling
    },
  }
}

/** Pending approvals that are due, oldest first, at most a batch. */
const due = sql`due as (
    select id, tool_call_id, generation_id, expires_at <= now() as over
    from approvals
    where wake_at <= now() and status = 'PENDING' and (expires_at <= now() or requirement->>'loginOf' is null)
    order by wake_at
    limit ${batch}
  )`

/**
 * Locks the owners of what is due and the roots that get copies of their events; `free` are the generations that may
 * be written, `alone` the calls outside any generation. It skips locked rows and never waits, so the order of locks
 * does not matter.
 */
const owners = sql`owners as (
    select id, root_id
    from generations
    where id in (select generation_id from due)
    order by id
    for update skip locked
  ), roots as (
    select id
    from generations
    where id in (select root_id from owners) and id not in (select id from owners)
    order by id
    for update skip locked
  ), free as (
    select id, root_id
    from owners
    where root_id is null or root_id in (select id from roots union all select id from owners)
  ), alone as (
    select id
    from tool_calls
    where id in (select tool_call_id from due where generation_id is null)
    order by id
    for update skip locked
  )`

const isOver = sql`p.expires_at <= now()`
const expires = sql`(${isOver} and ${areFree(sql`p.project_id`, sql`p.agent_id`, sql`p.tool_id`)})`
/** A new deadline, for an approval whose call a pause holds. */
const again = sql`now() + (p.requirement->>'timeoutSeconds')::float8 * interval '1 second'`

/** Expires the approvals whose deadline has passed, unless a pause holds the call, and escalates the others. */
const moved = sql`a as (
    update approvals as p
    set status = case when ${expires} then 'EXPIRED' else p.status end,
      settled_at = case when ${expires} then now() end,
      escalated_at = case when ${isOver} then p.escalated_at else now() end,
      expires_at = case when ${isOver} and not ${expires} then ${again} else p.expires_at end,
      wake_at = case when ${expires} then null when ${isOver} then ${again} else p.expires_at end
    from due
    where p.id = due.id and p.status = 'PENDING' and p.wake_at <= now()
      and (p.generation_id in (select id from free) or p.tool_call_id in (select id from alone))
    returning p.id, p.project_id, p.generation_id, p.requested_by, p.tool_call_id, p.runtime_name, p.status,
      p.expires_at, due.over, p.requirement->>'loginOf' is not null as of_login
  )`

const call = { toolCallId: sql`a.tool_call_id`, name: sql`a.runtime_name` }
const approval = { ...call, approvalId: sql`a.id` }
const extension = {
  ...approval,
  extendedBy: sql`${systemId}::text`,
  expiresAt: sql`to_char(a.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
}

/** The events of the approvals in `a`, numbered for each log: the owner's own, and the copies in the root's log. */
const facts = sql`own as (
    select a.*, e.n, e.type, e.data
    from a cross join lateral (
      select 1 as n, ${eventColumns(approvalExpired, approval)}
      where a.status = 'EXPIRED'
      union all
      select 2, ${eventColumns(toolCallSettled, { ...call, status: sql`'EXPIRED'::text` })}
      where a.status = 'EXPIRED' and a.tool_call_id in (select id from c)
      union all
      select 1, ${eventColumns(approvalEscalated, approval)}
      where a.status = 'PENDING' and not a.over
      union all
      select 1, ${eventColumns(approvalExtended, extension)}
      where a.status = 'PENDING' and a.over
    ) as e
  ), written as (
    select project_id, generation_id, requested_by, id, n, type, data, status = 'EXPIRED' as expired
    from own
    union all
    select own.project_id, free.root_id, own.requested_by, own.id, own.n, own.type,
      own.data || jsonb_build_object('descendantId', own.generation_id), false
    from own join free on free.id = own.generation_id
    where free.root_id is not null and ${isCopiedToRoot(sql`own.type`)}
  ), facts as (
    select *, row_number() over (partition by generation_id order by id, n) as place
    from written
  )`

/** Raises the event numbers of owners and roots, and wakes those that wait for an approval that has expired. */
const woken = sql`g as (
    update generations as o
    set last_seq = o.last_seq + f.n,
      wake_at = case when o.status = 'WAITING' and f.expired then now() else o.wake_at end,
      status = case when o.status = 'WAITING' and f.expired then 'QUEUED' else o.status end
    from (
      select generation_id, count(*)::int as n, bool_or(expired) as expired
      from facts
      group by generation_id
    ) as f
    where o.id = f.generation_id and (o.finished_at is null or o.id in (select id from owners))
    returning o.id, o.project_id, o.status, o.last_seq, o.last_seq - f.n as before
  )`

const numbered = sql`
    select facts.project_id, facts.generation_id, g.before + facts.place::int as seq, facts.type, facts.data,
      facts.requested_by
    from facts left join g on g.id = facts.generation_id
    where facts.generation_id is null or g.id is not null
    order by facts.generation_id, facts.place`

/**
 * Locks the owners, settles or escalates the approvals, settles their calls, writes the events and wakes the owners.
 * Returns a row for each owner, and one with `n` 0 for each root.
 */
function statement() {
  return sql`with ${due},
  ${owners},
  ${moved},
  c as (${expireCalls(expiredResult, loginExpiredResult)}),
  ${facts},
  ${woken},
  e as (${insertEventRows(numbered)})
  select a.project_id as "projectId", a.generation_id as "generationId", max(g.last_seq) as seq,
    max(g.status) as status, count(*)::int as n
  from a left join g on g.id = a.generation_id
  group by 1, 2
  union all
  select g.project_id, g.id, g.last_seq, g.status, 0
  from g
  where g.id not in (select generation_id from a where generation_id is not null)`
}

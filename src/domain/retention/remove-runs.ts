/** Removes whole finished runs, each with all its descendants, in one transaction under the locks of all of them. */
import { atomically, query, type Database } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { moveFeedStart, type RemovedPlace } from '../../store/events/feed-start.ts'
import type { Held } from '../../store/work/work.ts'
import { passFollowers } from '../followers/index.ts'
import { deleteCalls } from '../tool-calls/index.ts'
import { keptBecause } from './find-runs.ts'
import { countRemoved, lockSweep } from './lease.ts'
import { dayMs } from './kinds.ts'
import { deleteFiles, filesNamedIn } from './remove-files.ts'

export interface RunRemoval {
  projectId: string
  /** Root runs. */
  ids: readonly string[]
  /** Those stay that are younger by now. */
  before: Date
  /** The request that is served: a line is kept of each call, without arguments and results. Null: retention. */
  removalId: string | null
}

/** How much older than `before` something must be that followers are not waited for, in milliseconds. */
export const patienceMs = 2 * dayMs

/**
 * Removes those of the runs that may go. False, with nothing removed, when followers have not read their events: then try
 * fewer, or later. LeaseLostError when another process sweeps.
 */
export async function removeRuns(db: Database, held: Held, removal: RunRemoval): Promise<boolean> {
  return atomically(db, async (tx) => {
    const tree = await lockTrees(tx, removal.ids)
    if (tree.length === 0) return true
    const sweep = await lockSweep(tx, held)
    const ids = await judge(tx, tree, removal.before)
    if (ids.length === 0) return true
    const newest = await newestEventOf(tx, ids)
    if (newest) {
      const { createdMs } = newest
      const givesUp = createdMs! < removal.before.getTime() - patienceMs
      const part = { projectId: removal.projectId, newest, generationIds: ids }
      if (!(await passFollowers(tx, part, givesUp))) return false
      await moveFeedStart(tx, removal.projectId, newest)
    }
    const files = await filesNamedIn(tx, ids)
    await leaveTombstones(tx, ids, removal.removalId !== null)
    const until = await deleteTrees(tx, ids)
    const gone = await deleteFiles(tx, removal.projectId, files)
    await countRemoved(tx, sweep, { runs: ids.length, files: gone }, removal.removalId)
    await query(
      tx,
      sql`update retentions set removed_until = greatest(removed_until, ${until}::timestamptz)
        where id = ${removal.projectId}`,
    )
    return true
  })
}

/** Locks the runs with their descendants, the deepest first, and their threads. Trees that somebody else has locked are left out. */
async function lockTrees(tx: Database, roots: readonly string[]): Promise<{ id: string; root: string }[]> {
  const all = sql`(id in ${[...roots]} or root_id in ${[...roots]})`
  const rows = await query<{ id: string; root: string }>(
    tx,
    sql`select id, coalesce(root_id, id) as root
      from generations
      where ${all}
      order by depth desc, id
      for update skip locked`,
  )
  const sizes = await query<{ root: string; n: number }>(
    tx,
    sql`select coalesce(root_id, id) as root, count(*)::int as n from generations where ${all} group by 1`,
  )
  const locked = (root: string) => rows.filter((row) => row.root === root).length
  const whole = new Set(sizes.filter(({ root, n }) => locked(root) === n).map(({ root }) => root))
  const kept = rows.filter(({ root }) => whole.has(root))
  if (kept.length > 0)
    await query(
      tx,
      sql`select 1 from threads
        where id in (select thread_id from generations where id in ${kept.map(({ id }) => id)})
        order by id
        for update`,
    )
  return kept
}

/** Judges under the locks: the ids of the trees that may go. */
async function judge(
  tx: Database,
  tree: readonly { id: string; root: string }[],
  before: Date,
): Promise<string[]> {
  const roots = [...new Set(tree.map(({ root }) => root))]
  const rows = await query<{ id: string }>(
    tx,
    sql`select g.id from generations as g where g.id in ${roots} and ${keptBecause(before)} is null`,
  )
  const free = new Set(rows.map(({ id }) => id))
  return tree.filter(({ root }) => free.has(root)).map(({ id }) => id)
}

async function newestEventOf(tx: Database, ids: readonly string[]): Promise<RemovedPlace | null> {
  const [row] = await query<RemovedPlace>(
    tx,
    sql`select id::float8 as id, commit_order::float8 as "commitOrder", position::float8 as position,
        (extract(epoch from created_at) * 1000)::float8 as "createdMs"
      from events
      where generation_id in ${[...ids]}
      order by position desc
      limit 1`,
  )
  return row ?? null
}

/** The most calls of one run of which a line is kept. */
const mostFacts = 500

async function leaveTombstones(tx: Database, ids: readonly string[], keepsFacts: boolean): Promise<void> {
  const facts = sql`(
      select coalesce(jsonb_agg(f.fact), '[]')
      from (
        select jsonb_build_object('id', c.id, 'name', c.runtime_name, 'status', c.status, 'attempts', c.attempt,
            'settledAt', c.settled_at, 'approval', a.fact) as fact
        from tool_calls as c
        left join lateral (
          select jsonb_build_object('id', p.id, 'status', p.status, 'settledAt', p.settled_at, 'votes', (
              select coalesce(jsonb_agg(jsonb_build_object('by', v->'by', 'verdict', v->'verdict', 'at', v->'at')), '[]')
              from jsonb_array_elements(p.votes) as v
            )) as fact
          from approvals as p
          where p.id = c.approval_id
        ) as a on true
        where c.generation_id = g.id
        order by c.step_index, c.call_index
        limit ${mostFacts}
      ) as f
    )`
  await query(
    tx,
    sql`insert into removed_generations (id, project_id, agent_id, requested_by, status, step_count, call_count,
        input_tokens, output_tokens, facts, created_at, finished_at)
      select g.id, g.project_id, g.agent_id, g.requested_by, g.status, g.step_count,
        (select count(*) from tool_calls as c where c.generation_id = g.id), g.input_tokens, g.output_tokens,
        ${keepsFacts ? facts : sql`null`}, g.created_at, g.finished_at
      from generations as g
      where g.id in ${[...ids]}
      on conflict (id) do nothing`,
  )
}

/** Deletes the rows of the trees. Returns when the newest of them was created, ISO 8601. */
async function deleteTrees(tx: Database, ids: readonly string[]): Promise<string> {
  const of: SQL = sql`generation_id in ${[...ids]}`
  const approvals = sql`select id from approvals
    where tool_call_id in (select id from tool_calls where ${of})`
  for (const statement of [
    sql`delete from verdict_tries where approval_id in (${approvals})`,
    sql`delete from slack_messages where approval_id in (${approvals})`,
    sql`delete from approvals where tool_call_id in (select id from tool_calls where ${of})`,
    sql`delete from events where ${of}`,
    sql`delete from steps where ${of}`,
    sql`delete from model_attempts where ${of}`,
    sql`delete from awaited_requests where ${of}`,
    sql`delete from tool_versions
      where tool_id in (
        select jsonb_path_query(settings, '$.clientTools[*].id') #>> '{}' from generations where id in ${[...ids]}
      )`,
    deleteCalls(sql`t.generation_id in ${[...ids]}`),
  ])
    await query(tx, statement)
  const gone = await query<{ thread: string; at: string }>(
    tx,
    sql`delete from generations where id in ${[...ids]}
      returning thread_id as thread, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at`,
  )
  await query(
    tx,
    sql`delete from threads as t
      where t.id in ${[...new Set(gone.map(({ thread }) => thread))]}
        and not exists (select 1 from generations as g where g.thread_id = t.id)`,
  )
  return gone
    .map(({ at }) => at)
    .toSorted()
    .at(-1)!
}

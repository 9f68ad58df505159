/** Removes whole finished runs, each with all its descendants, in one transaction under the locks of all of them. */
import { atomically, jsonb, query, type Database } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { rowsOf } from '../../store/db/rows.ts'
import { moveFeedStart, type RemovedPlace } from '../../store/events/position.ts'
import type { HeldRow } from '../../store/work/work.ts'
import { passFollowers } from '../followers/index.ts'
import { deleteCalls } from '../tool-calls/index.ts'
import { keptBecause, withTree } from './find-runs.ts'
import { countRemoved, lockSweep, dayMs } from './lease.ts'
import { goneParts } from './parts.ts'
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
export async function removeRuns(db: Database, held: HeldRow, removal: RunRemoval): Promise<boolean> {
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
    const until = await deleteTrees(tx, removal.projectId, ids)
    const gone = await deleteFiles(tx, removal.projectId, files, removal.removalId !== null)
    await countRemoved(tx, sweep, { runs: ids.length, files: gone }, removal.removalId, until)
    return true
  })
}

interface Locked {
  id: string
  root: string
  threadId: string
}

/** Locks the runs with their descendants, the deepest first, and their threads. Rows that somebody else has locked are left out. */
async function lockTrees(tx: Database, roots: readonly string[]): Promise<Locked[]> {
  const rows = await query<Locked>(
    tx,
    sql`select id, coalesce(root_id, id) as root, thread_id as "threadId"
      from generations
      where id = any(array(
          select id from ${listed(roots)}
          union all
          select d.id from ${listed(roots)} cross join lateral (
            select g.id from generations as g where g.root_id = x.id offset 0
          ) as d
        ))
      order by depth desc, id
      for update skip locked`,
  )
  if (rows.length > 0)
    await query(
      tx,
      sql`select 1 from threads
        where id = any(array(select id from ${listed([...new Set(rows.map(({ threadId }) => threadId))])}))
        order by id
        for update`,
    )
  return rows
}

/** The ids as the relation `x`. */
const listed = (ids: readonly string[]) => rowsOf(jsonb(ids.map((id) => ({ id }))), ids.length, 'x(id text)')

/** Judges under the locks: the ids of the trees that may go, each locked as a whole. */
async function judge(tx: Database, tree: readonly Locked[], before: Date): Promise<string[]> {
  const roots = [...new Set(tree.map(({ root }) => root))]
  const rows = await query<{ id: string; runs: number }>(
    tx,
    sql`select g.id, tree.runs
      from (
        select g.*
        from ${listed(roots)} cross join lateral (select * from generations as g where g.id = x.id offset 0) as g
      ) as g
      ${withTree(before)}
      where ${keptBecause(before)} is null`,
  )
  const locked = new Map<string, string[]>(roots.map((root) => [root, []]))
  for (const { id, root } of tree) locked.get(root)!.push(id)
  return rows.flatMap(({ id, runs }) => (locked.get(id)!.length === runs ? locked.get(id)! : []))
}

async function newestEventOf(tx: Database, ids: readonly string[]): Promise<RemovedPlace | null> {
  const [row] = await query<RemovedPlace>(
    tx,
    sql`select id::float8 as id, commit_order::float8 as "commitOrder", position::float8 as position,
        (extract(epoch from created_at) * 1000)::float8 as "createdMs"
      from (select e.* from ${eachOf('events', ids)}) as e
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
      where g.id = any(array(select id from ${listed(ids)}))
      on conflict (id) do nothing`,
  )
}

/**
 * The rows of a table that belong to these runs, as `e`. Each run is looked up by itself, so that the plan does not depend on
 * statistics.
 */
function eachOf(table: string, ids: readonly string[], by = 'generation_id'): SQL {
  return sql`${listed(ids)} cross join lateral (
      select t.ctid, t.* from ${sql.raw(table)} as t where ${sql.raw(`t.${by}`)} = x.id offset 0
    ) as e`
}

/** Deletes rows of these runs by their primary key. */
function deleteOf(table: string, ids: readonly string[], by = 'generation_id'): SQL {
  return sql`delete from ${sql.raw(table)} where id = any(array(select e.id from ${eachOf(table, ids, by)}))`
}

/** The same in a table whose rows are only added, or swept by their age as well, by the places at which they are seen. */
function deletePlacesOf(table: string, ids: readonly string[], by: string): SQL {
  return sql`delete from ${sql.raw(table)} where ctid = any(array(select e.ctid from ${eachOf(table, ids, by)}))`
}

/** Deletes the rows of the trees in one statement. Returns when the newest of them was created, ISO 8601. */
async function deleteTrees(tx: Database, projectId: string, ids: readonly string[]): Promise<string> {
  const parts = goneParts('run', {
    projectId,
    ids: sql`select id from ${listed(ids)}`,
    deleteRows: ({ name, columns }, by) => (columns.has('id') ? deleteOf : deletePlacesOf)(name, ids, by),
  })
  const gone = await query<{ thread: string; at: string }>(
    tx,
    sql`with ${parts},
      gone_calls as (${deleteCalls(sql`t.id = any(array(select e.id from ${eachOf('tool_calls', ids)}))`)}),
      gone_tools as (
        delete from tool_versions
        where tool_id = any(array(
          select jsonb_path_query(g.settings, '$.clientTools[*].id') #>> '{}'
          from ${listed(ids)} cross join lateral (
            select settings from generations as g where g.id = x.id offset 0
          ) as g
        ))
      )
      delete from generations where id = any(array(select id from ${listed(ids)}))
      returning thread_id as thread, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at`,
  )
  await query(
    tx,
    sql`delete from threads as t
      where t.id = any(array(select id from ${listed([...new Set(gone.map(({ thread }) => thread))])}))
        and (select count(*) from generations as g where g.thread_id = t.id) = 0`,
  )
  return gone
    .map(({ at }) => at)
    .toSorted()
    .at(-1)!
}

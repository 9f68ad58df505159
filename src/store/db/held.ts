/**
 * Whose a row is that only names ids of others, such as an event or an audit entry, and whether a legal hold keeps it. A hold
 * keeps a project, a root run with all below it, or what a principal has requested or made.
 */
import { query, type Database } from './database.ts'
import { sql, type SQL } from './sql.ts'

/** Whether a hold keeps the project or one of these: ids of root runs and of principals. */
export function isHeld(projectId: SQL | string, ...targets: readonly SQL[]): SQL {
  return sql`exists (
    select 1
    from legal_holds as h
    where h.project_id = ${projectId} and h.lifted_at is null and h.target in (${sql.join([sql`${projectId}`, ...targets], sql`, `)})
  )`
}

/**
 * Whether one of the ids that the relation `named (id)` selects is a target itself, or that of a run, call, approval or file that
 * is a target's. `targets` selects ids of the project, root runs and principals. The audit log knows who had made a file that
 * was deleted.
 */
export function namesAnyOf(projectId: SQL | string, named: SQL, targets: SQL): SQL {
  const ofRun = (by: string) =>
    sql`(${sql.raw(by)} in (${targets}) or coalesce(g.root_id, g.id) in (${targets}) or g.requested_by in (${targets}))`
  return sql`exists (
    select 1
    from (${named}) as named(id)
    where named.id in (${targets})
      or exists (select 1 from generations as g where g.id = named.id and ${ofRun('g.requested_by')})
      or exists (
        select 1
        from tool_calls as c
        left join generations as g on g.id = c.generation_id
        where c.id = named.id and ${ofRun('c.requested_by')}
      )
      or exists (
        select 1
        from approvals as a
        left join generations as g on g.id = a.generation_id
        where a.id = named.id and ${ofRun('a.requested_by')}
      )
      or exists (select 1 from files as f where f.id = named.id and f.created_by in (${targets}))
      or exists (
        select 1
        from audit_entries as l
        where l.project_id = ${projectId} and l.resource = 'file/' || named.id and l.action = 'files:Create'
          and l.principal_id in (${targets})
      )
  )`
}

/** Whether a hold keeps what the ids name that the relation `named (id)` selects. */
function isHeldAmong(projectId: SQL | string, named: SQL): SQL {
  const holds = sql`legal_holds as h where h.project_id = ${projectId} and h.lifted_at is null`
  const isOfAll = sql`exists (select 1 from ${holds} and h.target = ${projectId})`
  // Most projects have no hold: then nothing of the row is looked up.
  return sql`(exists (select 1 from ${holds}) and (
    ${isOfAll} or ${namesAnyOf(projectId, named, sql`select h.target from ${holds}`)}
  ))`
}

const textsOf = (column: string) =>
  sql.raw(
    `select t.value from jsonb_each_text(case jsonb_typeof(${column}) when 'object' then ${column} else '{}' end) as t`,
  )

/** The ids that an event `e` names, with that of its requester. */
export const namedInEvent = sql`${textsOf('e.data')} union all values (e.generation_id), (e.requested_by)`

/** Whether a hold keeps an event `e`. */
export const isHeldEvent = isHeldAmong(sql`e.project_id`, namedInEvent)

/** Whether a hold keeps an audit entry `x`. */
export const isHeldEntry = isHeldAmong(
  sql`x.project_id`,
  sql`${textsOf('x.details')} union all values (x.principal_id), (split_part(x.resource, '/', 2))`,
)

/** Whether a hold keeps a webhook delivery `x`: its project, or its event. */
export const isHeldDelivery = sql`(${isHeld(sql`x.project_id`)} or exists (
  select 1 from events as e where e.id = x.event_id and ${isHeldEvent}
))`

/** Whether a hold keeps an approval `a`. */
export const isHeldApproval = isHeldAmong(sql`a.project_id`, sql`values (a.id)`)

/** Whether a hold keeps the callback `w` of a run or call. */
export const isHeldCallback = isHeldAmong(sql`w.project_id`, sql`values (w.callback_of), (w.created_by)`)

/** The ids of the runs, calls and threads that name a file `f`. The conditions of the partial indexes `…_files`. */
export const namersOfFile = sql`
  select g.id from generations as g
  where jsonb_path_exists(g.input, '$.**.fileId')
    and jsonb_path_query_array(g.input, '$.**.fileId') @> to_jsonb(f.id)
  union all
  select c.id from tool_calls as c
  where jsonb_path_exists(c.attachments, '$.**.fileId')
    and jsonb_path_query_array(c.attachments, '$.**.fileId') @> to_jsonb(f.id)
  union all
  select t.id from threads as t
  where jsonb_path_exists(t.messages, '$.**.fileId')
    and jsonb_path_query_array(t.messages, '$.**.fileId') @> to_jsonb(f.id)`

/** Whether a hold keeps a file `f`: by who made it, or by a run or call that names it. */
export const isHeldFile = isHeldAmong(sql`f.project_id`, sql`values (f.created_by) union all ${namersOfFile}`)

/**
 * Lets a request remove something of a project: a hold that is put meanwhile waits for the end of the transaction, and one that
 * was put before is seen by the next statement.
 */
export async function waitForHolds(tx: Database, projectId: string): Promise<void> {
  await query(
    tx,
    sql`insert into retentions (id, project_id) values (${projectId}, ${projectId}) on conflict (id) do nothing`,
  )
  await query(tx, sql`select 1 from retentions where id = ${projectId} for share`)
}

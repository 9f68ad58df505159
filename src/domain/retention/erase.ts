/** Erases what is left of a person beside the runs, calls, threads and files that a removal takes. */
import { query, type Database } from '../../store/db/database.ts'
import { isHeld, isHeldApproval, isHeldEvent, namedInEvent, namesAnyOf } from '../../store/db/held.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { voters } from '../../store/db/tables/approvals.ts'
import { partsOf, tableTraits } from '../../store/db/tables/all-traits.ts'
import { isSettled } from './parts.ts'

/** Whose data goes, in which project. */
export interface Erased {
  projectId: string
  requester: string
}

/**
 * Deletes what endpoints have answered to events of what the requester has left, and in events of the feed that stay the names of
 * its files and of tools that its runs have brought along: an id takes their place. Before the rows go by which one knows whose
 * they are. Idempotent.
 */
export async function eraseTraces(tx: Database, { projectId, requester }: Erased): Promise<void> {
  const isTheirs = (named: SQL) =>
    sql`${namesAnyOf(projectId, named, sql`select ${requester}::text`)} and not ${isHeldEvent}`
  const ofEvents = (x: string) =>
    sql`${sql.raw(x)}.webhook_id in (select id from webhooks where project_id = ${projectId})
      and e.id = ${sql.raw(x)}.event_id and e.project_id = ${projectId} and ${isTheirs(namedInEvent)}`
  for (const { name, traits } of partsOf('event'))
    await query(
      tx,
      sql`delete from ${sql.raw(name)} as x using events as e where ${ofEvents('x')} ${isSettled(traits, 'x.')}`,
    )
  await query(
    tx,
    sql`update webhook_deliveries as x set answers = '[]' from events as e where ${ofEvents('x')}`,
  )
  const what = sql`coalesce(e.data->>'fileId', e.data->>'toolCallId', e.data->>'approvalId')`
  await query(
    tx,
    sql`update events as e set data = e.data || jsonb_build_object('name', ${what})
      where e.project_id = ${projectId} and e.generation_id is null and e.data->>'name' <> ${what}
        and (
          e.data ? 'fileId'
          or exists (select 1 from tool_calls as c where c.id = e.data->>'toolCallId' and c.generation_id is not null)
          or exists (select 1 from approvals as a where a.id = e.data->>'approvalId' and a.generation_id is not null)
        )
        and ${isTheirs(sql`values (${what})`)}`,
  )
}

/**
 * Erases the person itself, by the traits of the tables, with its name and address in the votes on what others have requested;
 * nothing while a hold keeps what it has left. Returns the ids of the sessions that have ended. Idempotent.
 */
export async function erasePerson(tx: Database, { projectId, requester }: Erased): Promise<string[]> {
  const isFree = sql`not ${isHeld(projectId, sql`${requester}`)}`
  const ended: string[] = []
  for (const { name, columns, erased } of tableTraits) {
    if (!erased) continue
    const whose = sql`${sql.raw(erased.by)} = ${requester} and project_id = ${projectId} and ${isFree}`
    if (erased.what === 'ROWS') {
      const rows = await query<{ id: string }>(
        tx,
        sql`delete from ${sql.raw(name)} where ${whose} returning id`,
      )
      ended.push(...rows.map(({ id }) => id))
    } else {
      const contents = [...columns].filter(([, content]) => content === 'content')
      const id = contents.map(([column]) => sql.raw(`${column} = ${erased.by}`))
      await query(tx, sql`update ${sql.raw(name)} set ${sql.join(id, sql`, `)} where ${whose}`)
    }
  }
  await query(tx, anonymousVotes({ projectId, requester }, isFree))
  return ended
}

/** Votes and claims keep the id, the verdict and what was said for it. */
function anonymousVotes({ projectId, requester }: Erased, isFree: SQL): SQL {
  return sql`update approvals as a set
      votes = (
        select coalesce(jsonb_agg(
          case when v.vote->>'by' = ${requester}
            then v.vote || jsonb_build_object('byName', ${requester}::text, 'from', null) else v.vote end
          order by v.n
        ), '[]')
        from jsonb_array_elements(a.votes) with ordinality as v(vote, n)
      ),
      claim = case when a.claim->>'by' = ${requester} then null else a.claim end,
      search = null
    where a.project_id = ${projectId} and ${isFree} and not ${isHeldApproval}
      and (${voters} @> to_jsonb(${requester}::text) or a.claim->>'by' = ${requester})`
}

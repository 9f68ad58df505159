/** What goes with a run, a call, an approval, an event or a webhook that is removed, by the traits of the tables. */
import { sql, type SQL } from '../../store/db/sql.ts'
import { partsOf } from '../../store/db/tables/all-traits.ts'
import type { TableTraits } from '../../store/db/tables/traits.ts'

/** How rows of a table are deleted whose column `by` has the id of a run or call that is removed. */
export type DeleteRows = (table: TableTraits, by: string) => SQL

/**
 * Relations of a statement that delete everything that goes with the runs or calls, but for their own rows. `ids` selects those
 * of the runs or calls. Followers have read the events, or have been disabled.
 */
export function goneParts(
  whole: 'run' | 'call',
  { projectId, ids, deleteRows }: { projectId: string; ids: SQL; deleteRows: DeleteRows },
): SQL {
  const own = partsOf(whole)
  const relations = own.map(({ by, traits }) => gone(traits.name, deleteRows(traits, by), traits))
  relations.push(...partsOf('approval').map((part) => gone(part.name, deletePart(part, sql`gone_approvals`))))
  if (own.some(({ name }) => name === 'events'))
    relations.push(...goneWithEvents(projectId, sql`gone_events`))
  // One that has something to repeat ends by itself.
  const callbacks = sql`delete from webhooks as w
    where w.callback_of = any(array(${ids})) and not exists (
      select 1 from webhook_deliveries as d where d.webhook_id = w.id and d.status = 'PENDING'
    )`
  relations.push(sql`gone_callbacks as (${callbacks} returning id)`)
  relations.push(
    ...partsOf('webhook').map((part) =>
      gone(`callbacks_${part.name}`, deletePart(part, sql`gone_callbacks`)),
    ),
  )
  return sql.join(relations, sql`, `)
}

/**
 * Relations of a statement that delete what goes with the events whose ids the relation has: deliveries that are settled, and
 * receipts.
 */
export function goneWithEvents(projectId: string, events: SQL): SQL[] {
  return partsOf('event').map(({ name, by, traits }) =>
    gone(
      name,
      sql`delete from ${sql.raw(name)}
        where webhook_id = any(array(select id from webhooks where project_id = ${projectId}))
          and ${sql.raw(by)} in (select id from ${events})
          ${isSettled(traits)}`,
    ),
  )
}

/** The condition that a row has nothing to be repeated. */
export function isSettled({ columns }: TableTraits, prefix = ''): SQL {
  return columns.has('status') ? sql`and ${sql.raw(prefix)}status <> 'PENDING'` : sql``
}

function deletePart({ name, by }: { name: string; by: string }, wholes: SQL): SQL {
  return sql`delete from ${sql.raw(name)} where ${sql.raw(by)} = any(array(select id from ${wholes}))`
}

/** The deletion as a relation, of the ids where rows have one. */
function gone(name: string, deletion: SQL, traits?: TableTraits): SQL {
  return sql`${sql.raw(`gone_${name}`)} as (${deletion} ${traits?.columns.has('id') || traits?.name === 'events' ? sql`returning id` : sql``})`
}

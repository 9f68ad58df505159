/**
 * Removes what one requester has left behind, and what is left of a person, at the request of somebody who may ask for
 * that.
 */
import * as view from '../../core/view.ts'
import { notFound, AppError } from '../../core/errors.ts'
import { query, type Database, atomically, jsonb } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { z } from 'zod'
import { text } from '../../core/check.ts'
import { newId } from '../../core/ids.ts'
import type { Page } from '../../core/page.ts'
import { entity, idShape, part, idOf } from '../../core/shapes.ts'
import { isHeld, isHeldApproval, isHeldEvent, namedInEvent, namesAnyOf } from '../../store/db/held.ts'
import { listPage } from '../../store/db/lists.ts'
import { selectRows, insertSelect } from '../../store/db/rows.ts'
import { dataRemovals } from '../../store/db/tables/retention.ts'
import {
  assertMay,
  assertStillValid,
  inProject,
  operation,
  projectOf,
  recordChange,
  type Ctx,
} from '../access/index.ts'
import { appendProjectEvents, dataRemovalRequested, dataRemovalFinished } from '../events/index.ts'
import { type KeptReason, countRuns } from './find-runs.ts'
import {
  removedCounts,
  type RemovedCounts,
  youngestMs,
  lockRetention,
  makeDue,
  wakeSweep,
  lockSweep,
} from './lease.ts'
import { voters } from '../../store/db/tables/approvals.ts'
import { partsOf, tableTraits } from '../../store/db/tables/all-traits.ts'
import { isSettled } from './parts.ts'
import { sweepBatches, sweepRuns, type Sweep } from './passes.ts'
import { hasYoung, removeCalls, removeFiles, removeThreads } from './remove-others.ts'

/** Throws NOT_FOUND unless the principal is of the project or has started something there. */
export async function assertRequester(db: Database, projectId: string, id: string): Promise<void> {
  const rows = await query(
    db,
    sql`select 1 from api_keys where id = ${id} and project_id = ${projectId}
      union all select 1 from subjects where id = ${id} and project_id = ${projectId}
      union all (select 1 from generations where requested_by = ${id} and project_id = ${projectId} limit 1)`,
  )
  if (rows.length === 0) throw notFound('requester', id)
}

/** Runs of the requester that stay, by reason; calls outside runs as `CALLS`. */
export type KeptCounts = Partial<Record<KeptReason | 'CALLS', number>>
export const keptCounts = entity<KeptCounts>()('KeptCounts')

export const dataRemoval = part(
  'DataRemoval',
  'A request to remove the data of one requester, and its result.',
  {
    id: idOf('removal', 'request'),
    requester: view.under('requesterId', view.id('The id of the API key or person whose data goes.')),
    requestedBy: view.principal('requestedBy', 'The principal that requested the removal.'),
    reason: view.text('The reason that was given; null for none.').nullable(),
    removed: removedCounts.describe('The numbers of what was removed so far.'),
    kept: keptCounts
      .describe('The numbers of what stays, by reason; null before the first sweep.')
      .nullable(),
    createdAt: view.date('When the removal was requested.'),
    finishedAt: view.date('When the removal ended; null while some of the data is too young.').nullable(),
  },
)
export interface DataRemoval extends z.output<typeof dataRemoval> {
  projectId: string
}

export const DataRemoval = entity<DataRemoval>()('DataRemoval')

export const removalOf = (row: typeof dataRemovals.$inferSelect): DataRemoval => ({
  ...row,
  removed: row.removed as RemovedCounts,
  kept: row.kept as KeptCounts | null,
})

/**
 * Whatever the retention of the project is; what is open, UNKNOWN or under a legal hold stays and is counted. A repeat while it
 * goes on returns the same removal. CONFLICT while a legal hold keeps all of the requester or of the project.
 */
export const removeRequesterData = operation({
  name: 'removeRequesterData',
  does:
    'Removes the finished generations, the calls outside generations and the files of one requester; what ended within ' +
    '24 hours follows. A line of each call and verdict stays, without arguments and results, and so do audit entries.',
  permission: 'retention:Remove',
  input: z
    .object({
      ...inProject,
      requesterId: idShape('The id of the API key or person; it begins with key_ or usr_.'),
      reason: text(2000).describe('Why, at most 2,000 characters.').nullish(),
    })
    .describe('Whose data to remove.'),
  payload: z
    .object({ removal: DataRemoval.describe('The request after the mutation.') })
    .describe('The request, which is served in the background.'),
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(ctx, { requesterId: requester, reason = null, ...given }) {
    const projectId = await projectOf(ctx, given.projectId)
    await assertMay(ctx, 'retention:Remove', projectId, `principal/${requester}`)
    const removal = await atomically(ctx.db, async (tx) => {
      await assertStillValid(tx, ctx.principal)
      await assertRequester(tx, projectId, requester)
      await lockRetention(tx, projectId)
      const [held] = await query(tx, sql`select 1 where ${isHeld(projectId, sql`${requester}`)}`)
      if (held)
        throw new AppError(
          'CONFLICT',
          'A legal hold keeps what this requester has left. Lift it before you remove it.',
        )
      const own = { id: newId('removal'), projectId, requester, requestedBy: ctx.principal.id, reason }
      const fresh = await query(
        tx,
        sql`${insertSelect(dataRemovals, own)}
          on conflict (project_id, requester) where finished_at is null do nothing
          returning 1`,
      )
      if (fresh.length > 0) {
        await recordChange(tx, ctx, {
          projectId,
          action: 'retention:Remove',
          resource: `principal/${requester}`,
          details: { removalId: own.id, ...(reason ? { reason } : {}) },
        })
        await appendProjectEvents(tx, projectId, [dataRemovalRequested({ removalId: own.id, requester })])
      }
      await makeDue(tx, projectId)
      const [row] = await selectRows(
        tx,
        dataRemovals,
        sql`where project_id = ${projectId} and requester = ${requester} and finished_at is null`,
      )
      return removalOf(row!)
    })
    wakeSweep(ctx, projectId)
    return { removal }
  },
})

/** Removals of the data of a requester, newest first. Action `retention:Get`. */
export async function listDataRemovals(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; page: Page },
): Promise<DataRemoval[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'retention:Get', projectId, `project/${projectId}`)
  return (await listPage(ctx.db, dataRemovals, projectId, input.page)).map(removalOf)
}

/** Whose data goes, in which project. */
export interface ErasedPerson {
  projectId: string
  requester: string
}

/**
 * Deletes what endpoints have answered to events of what the requester has left, and in events of the feed that stay the names of
 * its files and of tools that its runs have brought along: an id takes their place. Before the rows go by which one knows whose
 * they are. Idempotent.
 */
async function eraseTraces(tx: Database, { projectId, requester }: ErasedPerson): Promise<void> {
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
async function erasePerson(tx: Database, { projectId, requester }: ErasedPerson): Promise<string[]> {
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
function anonymousVotes({ projectId, requester }: ErasedPerson, isFree: SQL): SQL {
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

/** Serves the removals of a project that are open. False when the process must stop. */
export async function serveRemovals(sweep: Sweep): Promise<boolean> {
  const open = await selectRows(
    sweep.services.db,
    dataRemovals,
    sql`where project_id = ${sweep.projectId} and finished_at is null order by created_at, id`,
  )
  const before = new Date(sweep.now.getTime() - youngestMs)
  for (const removal of open) {
    const { id, requester } = removal
    await atomically(sweep.services.db, async (tx) => {
      // A hold that was put before is seen, and one that is put now waits.
      await lockSweep(tx, sweep.held)
      await eraseTraces(tx, { projectId: sweep.projectId, requester })
    })
    const done =
      (await sweepRuns(sweep, { before, requester }, id)) &&
      (await sweepBatches(sweep, removeCalls(requester), before, id)) &&
      (await sweepBatches(sweep, removeThreads(requester), before, id)) &&
      (await sweepBatches(sweep, removeFiles(requester), before, id))
    if (!done) return false
    await settle(sweep, removal, before)
  }
  return true
}

/** Runs that stay are counted up to here. */
const mostCounted = 10_000

/** Notes what stays. It is finished when nothing has to wait for its age alone, of whatever kind. */
async function settle(
  { services: { db, pubsub }, held, projectId }: Sweep,
  { id, requester }: Pick<DataRemoval, 'id' | 'requester'>,
  before: Date,
): Promise<void> {
  const { runs, kept } = await countRuns(db, { projectId, before, requester }, mostCounted)
  const calls = await countKeptCalls(db, projectId, requester)
  const all: KeptCounts = { ...kept, ...(calls > 0 ? { CALLS: calls } : {}) }
  const old = { projectId, before, removalId: id }
  const isFinished = runs === 0 && !kept.RECENT && !(await hasYoung(db, old, requester))
  const ended = await atomically(db, async (tx) => {
    await lockSweep(tx, held)
    await query(
      tx,
      sql`update data_removals set
          kept = ${jsonb(all)},
          finished_at = case when ${isFinished}::boolean then now() end
        where id = ${id}`,
    )
    if (!isFinished) return []
    await appendProjectEvents(tx, projectId, [dataRemovalFinished({ removalId: id, requester })])
    // What a hold keeps of a person says who it was.
    return kept.HELD ? [] : erasePerson(tx, { projectId, requester })
  })
  pubsub.publish(ended.map((session) => ({ kind: 'signal', name: 'revoked', id: session })))
}

async function countKeptCalls(db: Database, projectId: string, requester: string): Promise<number> {
  const [row] = await query<{ n: number }>(
    db,
    sql`select count(*)::int as n
      from (
        select 1
        from tool_calls as c
        where c.project_id = ${projectId} and c.requested_by = ${requester} and c.generation_id is null
        limit ${mostCounted}
      ) as counted`,
  )
  return row!.n
}

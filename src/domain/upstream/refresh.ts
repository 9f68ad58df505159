/** Looks at an upstream and writes down what was found: the list, or why there is no newer one. */
import { sql, type SQL } from 'drizzle-orm'
import { notFound } from '../../core/errors.ts'
import { atomically, jsonb, nowPlus, query } from '../../store/db/database.ts'
import { LeaseLostError, type Held } from '../../store/work/work.ts'
import type { Services } from '../access/index.ts'
import { appendProjectEvents, upstreamChanged, upstreamStatus, type DomainEvent } from '../events/index.ts'
import { compareCatalogs, type Catalog } from './catalog.ts'
import { discover, type Discovery } from './discover.ts'
import { faultOf, type FaultCode, type UpstreamFault } from './fault.ts'
import { followerOf } from './follower.ts'
import { loadCatalogs, loadRows, remember, rowColumns, stateOf } from './state.ts'
import type { UpstreamRow, UpstreamState, UpstreamStatus } from './state.ts'

/** Time for one whole look, in milliseconds. */
const lookMs = 30_000
/** The row stays ours a little longer than a look can take. */
const leaseMs = lookMs + 15_000
/** Between two looks at a server that answers, unless it says otherwise. Milliseconds. */
const usualMs = 5 * 60_000
const shortestMs = 60_000
const longestMs = 60 * 60_000
/** After the first failure; twice as long after each other one. Milliseconds. */
const firstRetryMs = 2000
const longestRetryMs = 5 * 60_000
/** After so many failures in a row, calls fail at once until the next look. */
const failuresToOpen = 3
/** A look that others overtake is repeated so often. */
const maxLooks = 4

/**
 * Discovers now and answers the new state. Callers at the same time share one look in this process; between processes
 * the one that starts last writes. A server that is dead is a state, not an error; NOT_FOUND when there is no such
 * upstream.
 */
export function refreshUpstream(services: Services, id: string): Promise<UpstreamState> {
  return services.connections.share(`refresh ${id}`, async () => {
    // A server that tells of a change while it is looked at has somebody else look anew.
    for (let tries = 1; tries <= maxLooks && !(await lookNow(services, id)); tries++);
    const [row] = await loadRows(services.db, [id])
    if (!row) throw notFound('upstream', id)
    return stateOf(row)
  })
}

/** False when somebody took the row meanwhile, to look at it later than we did. */
async function lookNow(services: Services, id: string): Promise<boolean> {
  const [held] = await query<Held>(
    services.db,
    sql`update upstreams set epoch = epoch + 1, wake_at = ${nowPlus(leaseMs)} where id = ${id}
      returning id, epoch`,
  )
  if (!held) throw notFound('upstream', id)
  try {
    await look(services, held, null)
    return true
  } catch (error) {
    if (error instanceof LeaseLostError) return false
    throw error
  }
}

/** One look at a row that is held. Throws LeaseLostError when somebody else has it by now. */
export async function look(services: Services, held: Held, signal: AbortSignal | null): Promise<void> {
  const [row] = await query<UpstreamRow>(
    services.db,
    sql`select ${rowColumns} from upstreams where id = ${held.id} and epoch = ${held.epoch}`,
  )
  if (!row) throw new LeaseLostError(held.id)
  const known = (await loadCatalogs(services.db, [row])).get(row.id)!
  const limit = AbortSignal.timeout(lookMs)
  const stop = signal ? AbortSignal.any([limit, signal]) : limit
  let found: Discovery
  try {
    found = await discover(services, row, known, stop)
  } catch (error) {
    if (signal?.aborted) throw error
    return writeFailure(services, held, row, faultOf(error))
  }
  await writeSuccess(services, held, row, known, found)
  await followerOf(services)?.follow(row.id)
}

async function writeSuccess(
  services: Services,
  held: Held,
  row: UpstreamRow,
  known: Catalog,
  { catalog, verdict, probed, ttlMs }: Discovery,
): Promise<void> {
  const isNew = catalog.hash !== row.catalogHash
  const text = isNew ? JSON.stringify(catalog) : null
  const wait = Math.min(Math.max(ttlMs ?? usualMs, shortestMs), longestMs)
  const listener = followerOf(services)?.name ?? null
  await commitState(services, held, {
    set: sql`status = 'CONNECTED', error = null, failures = 0, retry_at = null, verdict = ${jsonb(verdict)},
      verdict_at = case when ${probed} or verdict_at is null then now() else verdict_at end,
      last_seen_at = now(), refreshed_at = now(), wake_at = ${nowPlus(aroundMs(wait))},
      listener = coalesce(${listener}, listener)
      ${text === null ? sql`` : sql`, catalog = ${text}, catalog_hash = ${catalog.hash}`}`,
    events: [
      ...statusEvents(row, 'CONNECTED', null),
      ...(isNew ? [changeEvent(row.id, known, catalog)] : []),
    ],
    projectId: row.projectId,
    surface: isNew,
  })
  if (text !== null) remember(row.id, catalog, text.length)
}

async function writeFailure(
  services: Services,
  held: Held,
  row: UpstreamRow,
  fault: UpstreamFault,
): Promise<void> {
  const failures = row.failures + 1
  const wait = aroundMs(Math.min(firstRetryMs * 2 ** Math.min(row.failures, 20), longestRetryMs))
  const status = failedStatus(row, fault)
  const open = failures >= failuresToOpen && status !== 'AUTHORIZATION_REQUIRED'
  const error = { code: fault.code, message: fault.message }
  await commitState(services, held, {
    set: sql`status = ${status}, error = ${jsonb(error)}, failures = ${failures}, wake_at = ${nowPlus(wait)},
      retry_at = ${open ? nowPlus(wait) : sql`null`}`,
    events: statusEvents(row, status, fault.code),
    projectId: row.projectId,
    surface: false,
  })
  services.log.debug({ id: row.id, code: fault.code, failures }, 'an upstream did not answer as it should')
}

/** What only somebody who configures it, logs in or grants rights can mend. */
const authorizationCodes = new Set<FaultCode>([
  'authorization_required',
  'authorization_failed',
  'insufficient_scope',
  'issuer_mismatch',
])

function failedStatus(row: UpstreamRow, { code }: UpstreamFault): UpstreamStatus {
  if (authorizationCodes.has(code)) return 'AUTHORIZATION_REQUIRED'
  return row.catalogHash === null ? 'UNREACHABLE' : 'DEGRADED'
}

/** Commits state and events together, under the proof that the row is still ours, and publishes after the commit. */
async function commitState(
  services: Services,
  held: Held,
  change: { set: SQL; events: DomainEvent[]; projectId: string; surface: boolean },
): Promise<void> {
  const { projectId, events } = change
  await atomically(services.db, async (tx) => {
    const rows = await query(
      tx,
      sql`update upstreams set ${change.set} where id = ${held.id} and epoch = ${held.epoch} returning id`,
    )
    if (rows.length === 0) throw new LeaseLostError(held.id)
    if (events.length > 0) await appendProjectEvents(tx, projectId, events)
  })
  if (events.length > 0) services.pubsub.publish([{ kind: 'news', projectId, generationId: null, seq: null }])
  if (change.surface) services.pubsub.publish([{ kind: 'signal', name: 'surface', id: projectId }])
}

function statusEvents(row: UpstreamRow, status: UpstreamStatus, code: string | null): DomainEvent[] {
  if (row.status === status && (row.error?.code ?? null) === code) return []
  return [upstreamStatus({ toolId: row.id, status, code })]
}

function changeEvent(toolId: string, before: Catalog, after: Catalog): DomainEvent {
  const { added, removed, changed } = compareCatalogs(before, after)
  return upstreamChanged({ toolId, added, removed, changed })
}

/** A fifth more or less, so that upstreams that were saved together are not looked at together for ever. */
function aroundMs(milliseconds: number): number {
  return Math.round(milliseconds * (0.8 + Math.random() * 0.4))
}

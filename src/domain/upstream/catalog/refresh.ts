/** Refreshes an upstream: reads its lists and stores the catalog, or the reason why there is no newer one. */
import { writeJson } from '../../../core/json.ts'
import { withinTime } from '../../../core/time.ts'
import { notFound } from '../../../core/errors.ts'
import { atomically, nowPlus, query } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { isRefused } from '../../../store/db/storage-error.ts'
import { upstreams } from '../../../store/db/tables/upstreams.ts'
import { assignments, type Values } from '../../../store/db/rows.ts'
import { LeaseLostError, type HeldRow } from '../../../store/work/work.ts'
import { systemId, type Services } from '../../access/index.ts'
import { record, type NewAuditEntry } from '../../audit/index.ts'
import {
  appendProjectEvents,
  upstreamChanged,
  upstreamStatus,
  type ProjectEvent,
} from '../../events/index.ts'
import { compareCatalogs, type Catalog } from './catalog.ts'
import { discover, type Discovery } from './discover.ts'
import { heldChanges } from './held.ts'
import { faultOf, UpstreamFault, type FaultCode } from '../fault.ts'
import { followerOf } from '../changes.ts'
import {
  loadCatalogs,
  loadRows,
  cacheCatalog,
  rowColumns,
  stateOf,
  type UpstreamRow,
  type UpstreamState,
  type UpstreamStatus,
} from '../state.ts'

/** Limit for one refresh, in milliseconds. */
const refreshMs = 30_000
/** The lease is a little longer than a refresh can take, in milliseconds. */
const leaseMs = refreshMs + 15_000
/** Interval between two refreshes of a server that responds, unless its `ttlMs` differs. Milliseconds. */
const defaultIntervalMs = 5 * 60_000
const shortestMs = 60_000
const longestMs = 60 * 60_000
/** Pause after the first failure; it doubles with each further one. Milliseconds. */
const firstRetryMs = 2000
const longestRetryMs = 5 * 60_000
/** After this many failures in a row, calls fail at once until the next refresh. */
const failuresToOpen = 3
/** How often a refresh is repeated that lost its row to another process. */
const maxTries = 4

/**
 * Refreshes now and returns the new state. Concurrent callers of this process share one refresh; between processes the
 * one that starts last writes. An unreachable server is a state, not an error; NOT_FOUND when there is no such
 * upstream.
 */
export function refreshUpstream(services: Services, id: string): Promise<UpstreamState> {
  return services.connections.share(`refresh ${id}`, async () => {
    // A change that is reported during the refresh makes the row due for another one.
    for (let tries = 1; tries <= maxTries && !(await refreshOnce(services, id)); tries++);
    const [row] = await loadRows(services.db, [id])
    if (!row) throw notFound('upstream', id)
    return stateOf(row)
  })
}

/** False when the row was claimed or made due meanwhile, to be refreshed later than this one did. */
async function refreshOnce(services: Services, id: string): Promise<boolean> {
  const [held] = await query<HeldRow>(
    services.db,
    sql`
      update upstreams
      set epoch = epoch + 1,
        wake_at = ${nowPlus(leaseMs)}
      where id = ${id}
      returning id, epoch`,
  )
  if (!held) throw notFound('upstream', id)
  try {
    await refreshHeld(services, held, null)
    return true
  } catch (error) {
    if (error instanceof LeaseLostError) return false
    throw error
  }
}

/** Refreshes a claimed row. Throws LeaseLostError, with nothing written, when it was claimed or made due meanwhile. */
export async function refreshHeld(
  services: Services,
  held: HeldRow,
  signal: AbortSignal | null,
): Promise<void> {
  const [row] = await query<UpstreamRow>(
    services.db,
    sql`
      select ${rowColumns}
      from upstreams
      where id = ${held.id}
        and epoch = ${held.epoch}`,
  )
  if (!row) throw new LeaseLostError(held.id)
  const known = (await loadCatalogs(services.db, [row])).get(row.id)!
  let found: Discovery
  try {
    found = await discover(services, row, known, withinTime(refreshMs, signal))
  } catch (error) {
    if (signal?.aborted) throw error
    return writeFailure(services, held, row, faultOf(error))
  }
  try {
    await writeSuccess(services, held, row, known, found)
  } catch (error) {
    if (!isRefused(error)) throw error
    services.log.error({ err: error, id: row.id }, 'the database refused to store the catalog of an upstream')
    return writeFailure(services, held, row, new UpstreamFault('invalid_response', notStored, {}, error))
  }
  await followerOf(services)?.follow(row.id)
}

const notStored = 'What the server offers could not be stored: the database refused it.'

async function writeSuccess(
  services: Services,
  held: HeldRow,
  row: UpstreamRow,
  known: Catalog,
  { catalog, protocol, probed, ttlMs }: Discovery,
): Promise<void> {
  const isNew = catalog.hash !== row.catalogHash
  const text = isNew ? writeJson(catalog) : null
  const wait = Math.min(Math.max(ttlMs ?? defaultIntervalMs, shortestMs), longestMs)
  const listener = followerOf(services)?.name ?? null
  await commitState(services, held, {
    set: {
      status: 'CONNECTED',
      error: null,
      failures: 0,
      retryAt: null,
      verdict: protocol,
      verdictAt: sql`case when ${probed} or verdict_at is null then now() else verdict_at end`,
      lastSeenAt: sql`now()`,
      refreshedAt: sql`now()`,
      wakeAt: nowPlus(withJitter(wait)),
      listener: sql`coalesce(${listener}, listener)`,
      ...(text === null ? {} : { catalog: text, catalogHash: catalog.hash }),
    },
    entries: isNew ? heldEntries(row, known, catalog) : [],
    events: [
      ...statusEvents(row, 'CONNECTED', null),
      ...(isNew ? [changeEvent(row.id, known, catalog)] : []),
    ],
    projectId: row.projectId,
    surface: isNew,
  })
  if (text !== null) cacheCatalog(row.id, catalog, text.length)
}

async function writeFailure(
  services: Services,
  held: HeldRow,
  row: UpstreamRow,
  fault: UpstreamFault,
): Promise<void> {
  const failures = row.failures + 1
  const wait = withJitter(Math.min(firstRetryMs * 2 ** Math.min(row.failures, 20), longestRetryMs))
  const status = failedStatus(row, fault)
  const open = failures >= failuresToOpen && status !== 'AUTHORIZATION_REQUIRED'
  await commitState(services, held, {
    set: {
      status,
      error: { code: fault.code, message: fault.message },
      failures,
      wakeAt: nowPlus(wait),
      retryAt: open ? nowPlus(wait) : null,
    },
    events: statusEvents(row, status, fault.code),
    projectId: row.projectId,
    surface: false,
  })
  services.log.debug({ id: row.id, code: fault.code, failures }, 'the refresh of an upstream failed')
}

/** Failures that only a person can fix: by configuration, a login or more rights. */
const authorizationCodes = new Set<FaultCode>([
  'authorization_required',
  'authorization_failed',
  'insufficient_scope',
  'issuer_mismatch',
  'login_required',
])

function failedStatus(row: UpstreamRow, { code }: UpstreamFault): UpstreamStatus {
  if (authorizationCodes.has(code)) return 'AUTHORIZATION_REQUIRED'
  return row.catalogHash === null ? 'UNREACHABLE' : 'DEGRADED'
}

/**
 * Gives the row back with its state and events, while it is still held, and publishes after the commit. The epoch rises, so
 * that a renewal of the lease that is under way moves nothing.
 */
async function commitState(
  services: Services,
  held: HeldRow,
  change: {
    set: Values<typeof upstreams>
    events: ProjectEvent[]
    entries?: NewAuditEntry[]
    projectId: string
    surface: boolean
  },
): Promise<void> {
  const { projectId, events, entries = [] } = change
  await atomically(services.db, async (tx) => {
    const rows = await query(
      tx,
      sql`
        update upstreams
        set ${assignments(upstreams, change.set)}, epoch = epoch + 1
        where id = ${held.id}
          and epoch = ${held.epoch}
        returning id`,
    )
    if (rows.length === 0) throw new LeaseLostError(held.id)
    if (events.length > 0) await appendProjectEvents(tx, projectId, events)
    for (const entry of entries) await record(tx, entry)
  })
  if (events.length > 0) services.pubsub.publish([{ kind: 'news', projectId, generationId: null, seq: null }])
  if (change.surface) services.pubsub.publish([{ kind: 'signal', name: 'surface', id: projectId }])
}

function statusEvents(row: UpstreamRow, status: UpstreamStatus, code: string | null): ProjectEvent[] {
  if (row.status === status && (row.error?.code ?? null) === code) return []
  return [upstreamStatus({ toolId: row.id, status, code })]
}

function changeEvent(toolId: string, before: Catalog, after: Catalog): ProjectEvent {
  const { added, removed, changed } = compareCatalogs(before, after)
  return upstreamChanged({ toolId, added, removed, changed })
}

/** The most tools of one refresh that the audit log names. */
const mostEntries = 50

/** An entry for each tool of which the server now says something that does not count until a person agrees. */
function heldEntries(row: UpstreamRow, before: Catalog, after: Catalog): NewAuditEntry[] {
  const known = new Map(before.tools.map((tool) => [tool.name, heldChanges(tool).join(' ')]))
  return after.tools
    .map((tool) => ({ name: tool.name, changes: heldChanges(tool) }))
    .filter(({ name, changes }) => changes.length > 0 && known.get(name) !== changes.join(' '))
    .slice(0, mostEntries)
    .map(({ name, changes }) => ({
      projectId: row.projectId,
      principalId: systemId,
      action: 'gates:Update',
      resource: `tool/${row.id}`,
      outcome: 'DENIED',
      details: { action: name, changes },
    }))
}

/** Varies the time by up to a fifth, so that upstreams saved together are not refreshed together for ever. */
function withJitter(milliseconds: number): number {
  return Math.round(milliseconds * (0.8 + Math.random() * 0.4))
}

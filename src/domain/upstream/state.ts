/** Upstreams as they stand in the database: one statement for what is small, catalogs parsed once and kept. */
import { sql } from 'drizzle-orm'
import { query, type Database } from '../../store/db/database.ts'
import { emptyCatalog, type Catalog } from './catalog.ts'
import type { UpstreamConfig } from './config.ts'

/** DEGRADED has a list that stands although the server does not answer; UNREACHABLE has never had one. */
export const upstreamStatuses = [
  'PENDING',
  'CONNECTED',
  'DEGRADED',
  'UNREACHABLE',
  'AUTHORIZATION_REQUIRED',
] as const
export type UpstreamStatus = (typeof upstreamStatuses)[number]

export type Era = 'modern' | 'legacy'
export type UpstreamTransport = 'streamable-http' | 'sse'

export interface UpstreamState {
  id: string
  status: UpstreamStatus
  /** When it answered last. */
  lastSeenAt: Date | null
  /** When its lists were read last. */
  refreshedAt: Date | null
  /** What went wrong at the last look; null when it went well. */
  error: { code: string; message: string } | null
  /** Null before the first discovery. */
  catalogHash: string | null
  era: Era | null
  transport: UpstreamTransport | null
}

/** How the server is spoken to, as it was found out. `discover` is the modern server's own description of itself. */
export interface Verdict {
  era: Era
  transport: UpstreamTransport
  discover?: unknown
}

/** Everything about an upstream but its catalog. */
export interface UpstreamRow {
  id: string
  projectId: string
  config: UpstreamConfig
  configVersion: number
  status: UpstreamStatus
  /** Null also when it is older than a day: then it is found out again. */
  verdict: Verdict | null
  era: Era | null
  transport: UpstreamTransport | null
  lastSeenMs: number | null
  refreshedMs: number | null
  error: { code: string; message: string } | null
  failures: number
  /** Milliseconds until calls are let through again, by the database's clock; zero or less when they are. */
  closedForMs: number
  catalogHash: string | null
  listener: string | null
}

const millis = (column: string) => sql.raw(`(extract(epoch from ${column}) * 1000)::float8`)

/** The columns of an UpstreamRow, for a statement over `upstreams`. */
export const rowColumns = sql`id, project_id as "projectId", config, config_version as "configVersion", status,
  case when verdict_at > now() - interval '1 day' then verdict end as verdict,
  verdict->>'era' as era, verdict->>'transport' as transport,
  ${millis('last_seen_at')} as "lastSeenMs", ${millis('refreshed_at')} as "refreshedMs", error, failures,
  coalesce(${millis('retry_at')} - ${millis('now()')}, 0) as "closedForMs",
  catalog_hash as "catalogHash", listener`

/** The rows of these ids, in no order. */
export function loadRows(db: Database, ids: readonly string[]): Promise<UpstreamRow[]> {
  if (ids.length === 0) return Promise.resolve([])
  return query<UpstreamRow>(db, sql`select ${rowColumns} from upstreams where id in ${[...ids]}`)
}

/** A row as others may see it. */
export function stateOf(row: UpstreamRow): UpstreamState {
  const { id, status, error, catalogHash, era, transport } = row
  return {
    id,
    status,
    lastSeenAt: row.lastSeenMs === null ? null : new Date(row.lastSeenMs),
    refreshedAt: row.refreshedMs === null ? null : new Date(row.refreshedMs),
    error,
    catalogHash,
    era,
    transport,
  }
}

/** Parsed catalogs of this process by id and hash, the one unused for longest first. */
const kept = new Map<string, { catalog: Catalog; bytes: number }>()
let keptBytes = 0
/** Bytes of JSON; the objects take some three times as much. */
const maxKeptBytes = 64 * 1024 * 1024

function recall(id: string, hash: string): Catalog | null {
  const key = `${id}@${hash}`
  const known = kept.get(key)
  if (!known) return null
  kept.delete(key)
  kept.set(key, known)
  return known.catalog
}

/** Keeps a catalog for later readers of this process. Catalogs are shared: nobody may change one. */
export function remember(id: string, catalog: Catalog, bytes: number): void {
  const key = `${id}@${catalog.hash}`
  if (kept.has(key)) return
  kept.set(key, { catalog, bytes })
  keptBytes += bytes
  for (const [oldest, { bytes: freed }] of kept) {
    if (keptBytes <= maxKeptBytes || oldest === key) break
    kept.delete(oldest)
    keptBytes -= freed
  }
}

/** The catalogs of these rows; only those that this process does not know are read. Empty where there is none. */
export async function loadCatalogs(
  db: Database,
  rows: readonly Pick<UpstreamRow, 'id' | 'catalogHash'>[],
): Promise<Map<string, Catalog>> {
  const found = new Map<string, Catalog>()
  const missing: string[] = []
  for (const { id, catalogHash } of rows) {
    const catalog = catalogHash === null ? emptyCatalog : recall(id, catalogHash)
    if (catalog) found.set(id, catalog)
    else missing.push(id)
  }
  if (missing.length === 0) return found
  const texts = await query<{ id: string; catalog: string }>(
    db,
    sql`select id, catalog from upstreams where id in ${missing} and catalog is not null`,
  )
  for (const { id, catalog: text } of texts) {
    const catalog = JSON.parse(text) as Catalog
    remember(id, catalog, text.length)
    found.set(id, catalog)
  }
  for (const id of missing) if (!found.has(id)) found.set(id, emptyCatalog)
  return found
}

/**
 * State and catalog of these upstreams, by id. Never waits for a server: a list that could not be read again stays, with
 * a status that says so. What does not exist is missing from the answer. Checks no permission.
 */
export async function loadUpstreams(
  db: Database,
  ids: readonly string[],
): Promise<Map<string, UpstreamState & { catalog: Catalog }>> {
  const rows = await loadRows(db, ids)
  const catalogs = await loadCatalogs(db, rows)
  return new Map(
    rows.map((row) => {
      const catalog = catalogs.get(row.id)!
      // Between the two reads a refresh may have written a newer list: the hash tells of the one that is given.
      return [row.id, { ...stateOf(row), catalogHash: catalog.hash || null, catalog }]
    }),
  )
}

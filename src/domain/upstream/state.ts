/** Reads upstreams: small columns in one statement; catalogs are parsed once and cached in this process. */
import * as view from '../../core/view.ts'
import { z } from 'zod'
import { readJson } from '../../core/json.ts'
import { choice, idOf, part, reference, serverFault } from '../../core/shapes.ts'
import { query, type Database } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { emptyCatalog, type Catalog } from './catalog/catalog.ts'
import type { UpstreamConfig } from './config.ts'

export const upstreamStatusChoice = choice(
  'UpstreamStatus',
  'The connection status of an upstream MCP server.',
  {
    PENDING: 'The server has not been discovered yet.',
    CONNECTED: 'The server responded at the last discovery.',
    DEGRADED: 'The server does not respond; its list of tools is from an earlier discovery.',
    UNREACHABLE: 'The server does not respond and has never returned a list of tools.',
    AUTHORIZATION_REQUIRED: 'The server requires authorization: see the error, or connectUpstream.',
  },
)
export type UpstreamStatus = z.output<typeof upstreamStatusChoice>

export const eraChoice = choice(
  'UpstreamEra',
  'The family of MCP revisions that an upstream server speaks.',
  {
    modern: 'MCP 2026-07-28 and later: requests without sessions.',
    legacy: 'MCP 2024-11-05 to 2025-11-25: sessions that begin with initialize.',
  },
)
export type Era = z.output<typeof eraChoice>

export const upstreamTransportChoice = choice(
  'UpstreamTransport',
  'The MCP transport to an upstream server.',
  {
    'streamable-http': 'The Streamable HTTP transport.',
    sse: 'The older HTTP with SSE transport.',
  },
)
export type UpstreamTransport = z.output<typeof upstreamTransportChoice>

/** Which upstream is meant. */
export const ofUpstream = z
  .object({
    toolId: idOf('tool', 'mcp tool'),
  })
  .describe('The mcp tool whose server is meant.')

/** The tool of an upstream after a mutation, as far as the caller may read it. */
export const toolOfUpstream = part('UpstreamPayload', 'The tool after the mutation, with its upstream.', {
  tool: reference()('Tool').nullable().describe('The mcp tool; null when it is hidden from this API key.'),
})

export const upstreamShape = part(
  'Upstream',
  'The server behind an mcp tool as of the last discovery. Reading it sends no request to the server.',
  {
    status: upstreamStatusChoice.describe('The connection status of the server.'),
    lastSeenAt: view.date('When the server last responded; null when it never did.').nullable(),
    refreshedAt: view
      .date('When the lists of the server were last read; null when they never were.')
      .nullable(),
    error: serverFault.describe('The failure of the last discovery; null when it succeeded.').nullable(),
    era: eraChoice
      .describe('The protocol that the server speaks; null before the first discovery.')
      .nullable(),
    transport: upstreamTransportChoice
      .describe('The transport to the server; null before the first discovery.')
      .nullable(),
    nextTryAt: view
      .date('When the lists of the server are read again by themselves; null when that is not planned.')
      .nullable(),
  },
)
export interface UpstreamState extends z.output<typeof upstreamShape> {
  id: string
  /** Null before the first discovery. */
  catalogHash: string | null
}

/** The protocol that was negotiated with the server. `discover` is a modern server's `server/discover` result. */
export interface NegotiatedProtocol {
  era: Era
  transport: UpstreamTransport
  discover?: unknown
}

/** An upstream without its catalog. */
export interface UpstreamRow {
  id: string
  projectId: string
  config: UpstreamConfig
  configVersion: number
  status: UpstreamStatus
  /** Null when it is older than a day: then it is negotiated again. */
  protocol: NegotiatedProtocol | null
  era: Era | null
  transport: UpstreamTransport | null
  lastSeenMs: number | null
  refreshedMs: number | null
  nextTryMs: number | null
  error: { code: string; message: string } | null
  failures: number
  /** Milliseconds until calls are sent again, by the database's clock; zero or less when they are sent now. */
  closedForMs: number
  catalogHash: string | null
  listener: string | null
}

const millis = (column: string) => sql.raw(`(extract(epoch from ${column}) * 1000)::float8`)

/** The columns of an UpstreamRow, for a statement over `upstreams`. */
export const rowColumns = sql`
  id,
  project_id as "projectId",
  config,
  config_version as "configVersion",
  status,
  case when verdict_at > now() - interval '1 day' then verdict end as protocol,
  verdict->>'era' as era,
  verdict->>'transport' as transport,
  ${millis('last_seen_at')} as "lastSeenMs",
  ${millis('refreshed_at')} as "refreshedMs",
  ${millis('wake_at')} as "nextTryMs",
  error,
  failures,
  coalesce(${millis('retry_at')} - ${millis('now()')}, 0) as "closedForMs",
  catalog_hash as "catalogHash",
  listener`

/** Reads the rows with these ids, in no particular order. */
export function loadRows(db: Database, ids: readonly string[]): Promise<UpstreamRow[]> {
  if (ids.length === 0) return Promise.resolve([])
  return query<UpstreamRow>(db, sql`select ${rowColumns} from upstreams where id in ${[...ids]}`)
}

/** The row with this id as a JSON value of a larger statement, in its snapshot; null when there is none. */
export function upstreamRowOf(id: SQL): SQL {
  return sql`(select row_to_json(u) from (select ${rowColumns} from upstreams where id = ${id}) as u)`
}

/** The public state of an upstream. */
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
    nextTryAt: row.nextTryMs === null ? null : new Date(row.nextTryMs),
  }
}

/** The OAuth tokens of an upstream, without the tokens. */
export interface Connection {
  /** The key or person whose login got them; null when no person did. */
  by: string | null
  at: Date | null
  /** When the access token expires; null when the server did not say. */
  expiresAt: Date | null
}

/** The tokens of these upstreams, in their order; null without tokens. Checks no permission. */
export async function loadConnections(db: Database, ids: readonly string[]): Promise<(Connection | null)[]> {
  const rows = await query<{ id: string; by: string | null; atMs: number | null; expiresMs: number | null }>(
    db,
    sql`select upstream_id as id, connected_by as by, ${millis('connected_at')} as "atMs",
        ${millis('expires_at')} as "expiresMs"
      from upstream_tokens where upstream_id in ${[...ids]} and sealed is not null`,
  )
  const dateOf = (ms: number | null) => (ms === null ? null : new Date(ms))
  const found = new Map(
    rows.map(({ id, by, atMs, expiresMs }) => [id, { by, at: dateOf(atMs), expiresAt: dateOf(expiresMs) }]),
  )
  return ids.map((id) => found.get(id) ?? null)
}

/** This process's cache of parsed catalogs by id and hash, least recently used first. */
const cache = new Map<string, { catalog: Catalog; bytes: number }>()
let cacheBytes = 0
/** Bytes of JSON; the parsed objects take about three times as much. */
const maxCacheBytes = 64 * 1024 * 1024

function cachedCatalog(id: string, hash: string): Catalog | null {
  const key = `${id}@${hash}`
  const known = cache.get(key)
  if (!known) return null
  cache.delete(key)
  cache.set(key, known)
  return known.catalog
}

/** Caches a catalog for later readers of this process. Catalogs are shared and must not be changed. */
export function cacheCatalog(id: string, catalog: Catalog, bytes: number): void {
  const key = `${id}@${catalog.hash}`
  if (cache.has(key)) return
  cache.set(key, { catalog, bytes })
  cacheBytes += bytes
  for (const [oldest, { bytes: freed }] of cache) {
    if (cacheBytes <= maxCacheBytes || oldest === key) break
    cache.delete(oldest)
    cacheBytes -= freed
  }
}

/** The catalogs of these rows, read from the database when they are not cached. An empty one where there is none. */
export async function loadCatalogs(
  db: Database,
  rows: readonly Pick<UpstreamRow, 'id' | 'catalogHash'>[],
): Promise<Map<string, Catalog>> {
  const found = new Map<string, Catalog>()
  const missing: string[] = []
  for (const { id, catalogHash } of rows) {
    const catalog = catalogHash === null ? emptyCatalog : cachedCatalog(id, catalogHash)
    if (catalog) found.set(id, catalog)
    else missing.push(id)
  }
  if (missing.length === 0) return found
  const texts = await query<{ id: string; catalog: string }>(
    db,
    sql`
      select id, catalog
      from upstreams
      where id in ${missing}
        and catalog is not null`,
  )
  for (const { id, catalog: text } of texts) {
    const catalog = readJson(text) as Catalog
    cacheCatalog(id, catalog, text.length)
    found.set(id, catalog)
  }
  for (const id of missing) if (!found.has(id)) found.set(id, emptyCatalog)
  return found
}

/**
 * State and catalog of these upstreams, by id. Never waits for a server: a catalog that could not be refreshed is
 * returned with a status that says so. Ids that do not exist are missing from the map. Checks no permission.
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
      // A refresh may have written a newer catalog between the two reads: the hash must match the catalog returned.
      return [row.id, { ...stateOf(row), catalogHash: catalog.hash || null, catalog }]
    }),
  )
}

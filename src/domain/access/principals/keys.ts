/** API keys: created, found by hash, revoked. The secret is returned once and never stored. */
import type { z } from 'zod'
import * as view from '../../../core/view.ts'
import { and, eq, inArray, isNull } from 'drizzle-orm'
import { BoundedMap } from '../../../core/bounded.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { entity, part, idOf } from '../../../core/shapes.ts'
import { newToken, sha256Hex } from '../../../core/signing.ts'
import { query, type Database, jsonb } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { apiKeys } from '../../../store/db/tables/access.ts'
import type { Services } from '../context/context.ts'
import { type Principal, isSubject } from './subjects.ts'
import { reachingOthers, role as roleChoice, type Policy, type Role } from '../permission/policy.ts'

export const keyPrefix = 'gh_'

/** A key without its secret. */
export const apiKeyShape = part('ApiKey', 'An API key. Its secret was shown once; only a hash is stored.', {
  id: idOf('apiKey', 'API key'),
  projectId: view.object(
    'project',
    'Project',
    'The project of the API key; null when it is hidden from the caller.',
  ),
  name: view.text('The display name of the API key.'),
  prefix: view.text('The first characters of the secret, to distinguish API keys.'),
  role: roleChoice.describe('The role of the API key; null for a key with its own policy.').nullable(),
  policy: view.jsonObject<Policy>(
    'The permissions of the API key as {statement: [{effect, action, resource}]}. An explicit Deny wins.',
  ),
  agentId: view
    .object(
      'agent',
      'Agent',
      'The agent whose MCP bridge is all that this API key can use; null for a key of the whole project.',
    )
    .nullable(),
  votes: view.flag(
    'Whether the API key may decide approvals and gate changes; false for a key of a program.',
  ),
  invitedUntil: view
    .date(
      'When the invitation to this API key ends; null once it is accepted, and for an API key that was created ' +
        'with its secret.',
    )
    .nullable(),
  joinedBy: view
    .principal(
      'joinedBy',
      'The person who accepted the invitation with an account of the identity provider, and uses the API key by ' +
        'signing in; null for any other API key.',
    )
    .nullable(),
  createdBy: view
    .principal(
      'creator',
      'The principal that created the API key; null for the first key of the installation.',
      'The id of the API key or person that created this key, which ends with it; null for the first key ' +
        'of the installation.',
    )
    .nullable(),
  createdAt: view.date('When the API key was created.'),
  expiresAt: view.date('When the API key expires; null: never.').nullable(),
  revokedAt: view.date('When the API key was revoked; null when it was not.').nullable(),
})
export interface ApiKey extends z.output<typeof apiKeyShape> {
  installation: boolean
}

export const ApiKey = entity<ApiKey>()('ApiKey')

export interface NewApiKey {
  projectId: string
  name: string
  role: string | null
  policy: Policy
  installation: boolean
  agentId: string | null
  votes?: boolean
  invitedUntil?: Date | null
  expiresAt: Date | null
  createdBy: string | null
}

/** Inserts a key with a new secret of 256 random bits, or with the given one. The secret cannot be read again. */
export async function insertKey(
  db: Database,
  key: NewApiKey,
  given?: string,
): Promise<{ apiKey: ApiKey; secret: string }> {
  const secret = given ?? newToken(keyPrefix)
  const [row] = await db
    .insert(apiKeys)
    .values({ ...key, policyVersion, id: newId('apiKey'), ...storedOf(secret) })
    .returning()
  return { apiKey: keyOf(row!), secret }
}

/** What is stored of a secret. */
export function storedOf(secret: string): { hash: string; prefix: string } {
  return { hash: sha256Hex(secret), prefix: secret.slice(0, keyPrefix.length + 6) }
}

export async function loadKeys(db: Database, ids: readonly string[]): Promise<ApiKey[]> {
  const rows = await db
    .select()
    .from(apiKeys)
    .where(inArray(apiKeys.id, [...ids]))
  return rows.map(keyOf)
}

/**
 * Revokes a key and, unless `alone`, every key that was created with it, directly or through other keys, except keys of
 * operators. Returns the keys that this call revoked. Call it in a transaction: it waits for transactions that are
 * creating a key with one of these keys.
 */
export async function markRevoked(
  tx: Database,
  id: string,
  alone: boolean,
): Promise<{ id: string; projectId: string }[]> {
  const own = sql`update api_keys set revoked_at = now()
    where id = ${id} and revoked_at is null`
  const revoked = await query<{ id: string; projectId: string }>(
    tx,
    sql`${own} returning id, project_id as "projectId"`,
  )
  while (!alone) {
    // Each statement sees the keys that were committed while the previous one waited for a lock.
    const more = await query<{ id: string; projectId: string }>(
      tx,
      sql`with recursive made as (
          select id from api_keys
          where created_by = ${id} and not installation
          union
          select k.id from made
          join api_keys as k on k.created_by = made.id and not k.installation
        )
        update api_keys set revoked_at = now()
        where id in (select id from made) and revoked_at is null
        returning id, project_id as "projectId"`,
    )
    if (more.length === 0) break
    revoked.push(...more)
  }
  return revoked
}

export function keyOf(row: typeof apiKeys.$inferSelect): ApiKey {
  const { id, projectId, name, prefix, role, installation, agentId, votes, invitedUntil, joinedBy } = row
  const { createdBy, createdAt, expiresAt, revokedAt } = row
  return {
    id,
    projectId,
    name,
    prefix,
    role: role as Role | null,
    policy: policyOf(row),
    installation,
    agentId,
    votes,
    invitedUntil,
    joinedBy,
    createdBy,
    createdAt,
    expiresAt,
    revokedAt,
  }
}

const policyVersion = 2

/**
 * The policy of a row. Those of earlier releases did not name `generations:ReachOthers`: their keys reached what others
 * requested, and go on to do so, except for keys of callers.
 */
function policyOf({ policy, policyVersion: version, role }: typeof apiKeys.$inferSelect): Policy {
  const own = policy as Policy
  if (version !== null || role === 'caller') return own
  return { statement: [...own.statement, ...reachingOthers.statement] }
}

/** The principal of a key's row. */
export function principalOf(row: typeof apiKeys.$inferSelect): Principal {
  const { id, name, projectId, installation, role, expiresAt, agentId, votes } = row
  return { id, name, projectId, installation, role, expiresAt, agentId, votes, policy: policyOf(row) }
}

/** The longest accepted credential, in characters. A JWT carries claims; an API key is much shorter. */
const longestToken = 8192

export interface TokenVerifier {
  /** The principal of a token that was issued for one of these resources; null for every other token. */
  verify(token: string, resources: readonly string[]): Promise<Principal | null>
  /** Whether the token was valid lately, for any resource. */
  isKnown(token: string): boolean
}

/** Whether a credential has the form of a JWT, which begins with `{"` in base64url. API keys begin with gh_. */
function isToken(secret: string): boolean {
  return /^eyJ[\w-]*\.[\w-]+\.[\w-]+$/.test(secret)
}

/**
 * How long a row of the table is cached, in milliseconds. A revocation publishes a hint, which clears the cache at
 * once.
 */
const cacheMs = 5000
const cacheSize = 10_000

/** Finds principals by credential, with a small cache. One for each process. */
export interface Authenticator {
  /**
   * The principal of an API key, or of an identity provider's token for one of these resources. Throws UNAUTHENTICATED,
   * with the same message for missing, wrong, expired and revoked credentials.
   */
  authenticate(secret: string | null, resources?: readonly string[]): Promise<Principal>
  /** Whether the credential was valid lately, so that a query for it is no guess. It may be invalid by now. */
  isKnown(secret: string | null): boolean
  close(): void
}

/** Without `tokens` only API keys are accepted. */
export function createAuthenticator(
  services: Pick<Services, 'db' | 'pubsub' | 'clock'>,
  tokens: TokenVerifier | null = null,
): Authenticator {
  const cache = new BoundedMap<string, { principal: Principal | null; until: number }>(cacheSize)
  let clearings = 0
  const stop = services.pubsub.subscribe((hint) => {
    if (hint.kind !== 'reconnected' && !(hint.kind === 'signal' && hint.name === 'revoked')) return
    clearings++
    cache.clear()
  })
  const find = async (hash: string) => {
    const now = services.clock.now()
    const known = cache.get(hash)
    if (known && known.until > now) return known.principal
    const before = clearings
    const [row] = await services.db
      .select()
      .from(apiKeys)
      .where(and(eq(apiKeys.hash, hash), isNull(apiKeys.revokedAt)))
    const principal = row ? principalOf(row) : null
    // A row that was read before a revocation hint must not be cached after it.
    if (before === clearings) cache.set(hash, { principal, until: now + cacheMs })
    return principal
  }
  return {
    isKnown(secret) {
      if (secret === null || secret.length > longestToken) return false
      if (tokens && isToken(secret)) return tokens.isKnown(secret)
      return Boolean(cache.get(sha256Hex(secret))?.principal)
    },
    async authenticate(secret, resources = []) {
      const principal =
        secret === null || secret === '' || secret.length > longestToken
          ? null
          : tokens && isToken(secret)
            ? await tokens.verify(secret, resources)
            : await find(sha256Hex(secret))
      if (!principal || hasExpired(principal, services.clock.now())) throw unauthenticatedError()
      return principal
    },
    close: stop,
  }
}

export function hasExpired(principal: Principal, now: number): boolean {
  return principal.expiresAt !== null && principal.expiresAt.getTime() <= now
}

export function unauthenticatedError(): AppError {
  return new AppError(
    'UNAUTHENTICATED',
    'A valid API key is required: send it as "Authorization: Bearer gh_…".',
  )
}

/** A use is noted once in this time for each key, in milliseconds; also across replicas. */
const everyMs = 60_000
/** Keys that are remembered as noted. */
const mostKeys = 10_000

/**
 * When keys were last used, to within about a minute. A request notes its key in memory; a timer writes what was noted,
 * many keys in one statement, into a table of its own: rows of keys are locked by whoever acts with them.
 */
export interface KeyUses {
  /** Notes that a request came with this key. Never waits and never throws. */
  note(principal: Pick<Principal, 'id'>): void
  /** Writes what was noted, and stops. */
  close(): Promise<void>
}

/** `flushMs`: the time between the first note and the statement that writes it. */
export function createKeyUses(services: Pick<Services, 'db' | 'clock' | 'log'>, flushMs = 10_000): KeyUses {
  const noted = new BoundedMap<string, number>(mostKeys)
  const waiting = new Map<string, number>()
  let timer: NodeJS.Timeout | null = null
  const flush = async () => {
    timer = null
    const uses = [...waiting].map(([id, at]) => ({ id, at }))
    waiting.clear()
    await writeUses(services.db, uses).catch((error: unknown) =>
      services.log.warn({ err: error }, 'the last uses of keys could not be written; later uses will be'),
    )
  }
  return {
    note({ id }) {
      const now = services.clock.now()
      const before = noted.get(id)
      if ((before !== undefined && now - before < everyMs) || isSubject(id)) return
      noted.set(id, now)
      waiting.set(id, now)
      timer ??= setTimeout(() => void flush(), flushMs).unref()
    },
    async close() {
      if (timer) clearTimeout(timer)
      if (waiting.size > 0) await flush()
    },
  }
}

async function writeUses(db: Database, uses: readonly { id: string; at: number }[]): Promise<void> {
  if (uses.length === 0) return
  await query(
    db,
    // Sorted, so that two replicas that write the same keys do not wait for each other in a circle.
    sql`insert into key_uses as u (key_id, used_at)
      select x.id, to_timestamp(x.at / 1000)
      from jsonb_to_recordset(${jsonb(uses)}) as x(id text, at float8)
      join api_keys as k on k.id = x.id
      order by x.id
      on conflict (key_id) do update set used_at = excluded.used_at
      where u.used_at <= excluded.used_at - ${everyMs}::float8 * interval '1 millisecond'`,
  )
}

/** When each of these keys was last used; keys that never were are missing. Checks no permission. */
export async function loadKeyUses(db: Database, ids: readonly string[]): Promise<Map<string, Date>> {
  if (ids.length === 0) return new Map()
  const rows = await query<{ id: string; at: number }>(
    db,
    sql`select key_id as id, (extract(epoch from used_at) * 1000)::float8 as at
      from key_uses where key_id in ${[...ids]}`,
  )
  return new Map(rows.map(({ id, at }) => [id, new Date(at)]))
}

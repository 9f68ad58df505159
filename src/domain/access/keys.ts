/** API keys: made, found by hash, revoked. The secret is shown once and stored nowhere. */
import { and, eq, inArray, isNull, sql } from 'drizzle-orm'
import { AppError } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { newToken, sha256Hex } from '../../core/signing.ts'
import { query, type Database } from '../../store/db/database.ts'
import { apiKeys } from '../../store/db/tables/access.ts'
import type { Services, Principal } from './context.ts'
import type { TokenVerifier } from './oidc.ts'
import type { Policy, Role } from './policy.ts'
import { isSubject, subjectById, type Requester } from './subjects.ts'

export const keyPrefix = 'gh_'

/** A key as people see it. */
export interface ApiKey {
  id: string
  projectId: string
  name: string
  /** The first characters of the secret. */
  prefix: string
  role: Role | null
  policy: Policy
  installation: boolean
  /** The one agent whose bridge it opens; null for all of the project. */
  agentId: string | null
  /** False for a program: it never decides about approvals or changes of gates. */
  votes: boolean
  /** The key or person that made it; null for the operator's first. */
  createdBy: string | null
  createdAt: Date
  expiresAt: Date | null
  revokedAt: Date | null
}

export interface NewApiKey {
  projectId: string
  name: string
  role: string | null
  policy: Policy
  installation: boolean
  agentId: string | null
  votes?: boolean
  expiresAt: Date | null
  createdBy: string | null
}

/** Inserts a key with a fresh secret of 256 random bits, or with the given one. The secret cannot be had again. */
export async function insertKey(
  db: Database,
  key: NewApiKey,
  given?: string,
): Promise<{ apiKey: ApiKey; secret: string }> {
  const secret = given ?? newToken(keyPrefix)
  const [row] = await db
    .insert(apiKeys)
    .values({
      ...key,
      id: newId('apiKey'),
      hash: sha256Hex(secret),
      prefix: secret.slice(0, keyPrefix.length + 6),
    })
    .returning()
  return { apiKey: keyOf(row!), secret }
}

export async function loadKeys(db: Database, ids: readonly string[]): Promise<ApiKey[]> {
  const rows = await db
    .select()
    .from(apiKeys)
    .where(inArray(apiKeys.id, [...ids]))
  return rows.map(keyOf)
}

/**
 * Revokes a key with every key that was made with it, and with those, but for those of operators; only itself with
 * `alone`. Answers which this call has revoked. In a transaction: a key that is being made with one of them is waited for.
 */
export async function markRevoked(
  tx: Database,
  id: string,
  alone: boolean,
): Promise<{ id: string; projectId: string }[]> {
  const own = sql`update api_keys set revoked_at = now() where id = ${id} and revoked_at is null`
  const revoked = await query<{ id: string; projectId: string }>(
    tx,
    sql`${own} returning id, project_id as "projectId"`,
  )
  while (!alone) {
    // Each statement sees what was committed while the one before waited for a lock.
    const more = await query<{ id: string; projectId: string }>(
      tx,
      sql`with recursive made as (select id from api_keys where created_by = ${id} and not installation
          union select k.id from made join api_keys as k on k.created_by = made.id and not k.installation)
        update api_keys set revoked_at = now() where id in (select id from made) and revoked_at is null
        returning id, project_id as "projectId"`,
    )
    if (more.length === 0) break
    revoked.push(...more)
  }
  return revoked
}

export function keyOf(row: typeof apiKeys.$inferSelect): ApiKey {
  const { id, projectId, name, prefix, role, installation, agentId, votes, createdBy } = row
  const { createdAt, expiresAt, revokedAt } = row
  return {
    id,
    projectId,
    name,
    prefix,
    role: role as Role | null,
    policy: row.policy as Policy,
    installation,
    agentId,
    votes,
    createdBy,
    createdAt,
    expiresAt,
    revokedAt,
  }
}

function principalOf(row: typeof apiKeys.$inferSelect): Principal {
  const { id, name, projectId, installation, role, expiresAt, agentId, votes } = row
  return { id, name, projectId, installation, role, expiresAt, agentId, votes, policy: row.policy as Policy }
}

/** A token of a provider carries claims; a key of ours is much shorter. */
const longestToken = 8192

/** The form of a JWT, which begins with `{"` in base64url; our keys begin with gh_. */
function isToken(secret: string): boolean {
  return /^eyJ[\w-]*\.[\w-]+\.[\w-]+$/.test(secret)
}

/** How long an answer of the table is believed. A revocation rings the bell and is heard at once. */
const cacheMs = 5000
const cacheSize = 10_000

/**
 * Finds principals by secret, with a small cache. One for each process.
 */
export interface Authenticator {
  /**
   * The principal of a key's secret, or of a provider's token for one of these resources; UNAUTHENTICATED in the same
   * words for missing, wrong, expired and revoked.
   */
  authenticate(secret: string | null, resources?: readonly string[]): Promise<Principal>
  /** Whether the secret was good lately: looking it up again is worth a query. Says nothing of whether it still is. */
  isKnown(secret: string | null): boolean
  close(): void
}

/** Without `tokens` only API keys are known. */
export function createAuthenticator(
  services: Pick<Services, 'db' | 'pubsub' | 'clock'>,
  tokens: TokenVerifier | null = null,
): Authenticator {
  const cache = new Map<string, { principal: Principal | null; until: number }>()
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
    if (cache.size >= cacheSize) cache.clear()
    // What was read before a revocation was heard must not be believed after it.
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
      if (!principal || hasExpired(principal, services.clock.now())) throw unauthenticated()
      return principal
    },
    close: stop,
  }
}

/**
 * The principal of somebody who asked for something, when it may still act: a key that is neither revoked nor expired,
 * or a person with the rights that were kept with the request (see requesterOf), until the token of then is over.
 */
export async function principalById(
  db: Database,
  id: string,
  now: number,
  requester: Requester | null = null,
): Promise<Principal | null> {
  if (isSubject(id)) {
    const subject = requester ? await subjectById(db, id, requester) : null
    return subject && !hasExpired(subject, now) ? subject : null
  }
  const [row] = await db
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt)))
  const principal = row ? principalOf(row) : null
  return principal && !hasExpired(principal, now) ? principal : null
}

/**
 * Throws UNAUTHENTICATED when the caller's key was revoked or has expired since it was authenticated, or its token has, by
 * the database's clock. In a transaction a revocation waits until its end: what is written with the key comes before it.
 */
export async function assertStillValid(
  tx: Database,
  { id, expiresAt }: Pick<Principal, 'id' | 'expiresAt'>,
): Promise<void> {
  const rows = await query(
    tx,
    isSubject(id)
      ? sql`select 1 where ${expiresAt?.toISOString() ?? null}::timestamptz > clock_timestamp()`
      : sql`select 1 from api_keys where id = ${id} and revoked_at is null
          and (expires_at is null or expires_at > clock_timestamp()) for share`,
  )
  if (rows.length === 0) throw unauthenticated()
}

export function hasExpired(principal: Principal, now: number): boolean {
  return principal.expiresAt !== null && principal.expiresAt.getTime() <= now
}

export function unauthenticated(): AppError {
  return new AppError(
    'UNAUTHENTICATED',
    'A valid API key is needed: send it as "Authorization: Bearer gh_…".',
  )
}

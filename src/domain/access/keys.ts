/** API keys: made, found by hash, revoked. The secret is shown once and stored nowhere. */
import { and, eq, inArray, isNull, sql } from 'drizzle-orm'
import { AppError } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { newToken, sha256Hex } from '../../core/signing.ts'
import { query, type Database } from '../../store/db/database.ts'
import { apiKeys } from '../../store/db/tables/access.ts'
import type { House, Principal } from './context.ts'
import type { TokenVerifier } from './oidc.ts'
import type { Policy } from './policy.ts'
import { subjectById, subjectPrefix } from './subjects.ts'

export const keyPrefix = 'gh_'

/** A key as people see it. */
export interface ApiKey {
  id: string
  projectId: string
  name: string
  /** The first characters of the secret. */
  prefix: string
  role: string | null
  policy: Policy
  installation: boolean
  /** The one agent whose bridge it opens; null for all of the project. */
  agentId: string | null
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

/** Revokes once; a second time changes nothing. Answers whether this call did it. */
export async function markRevoked(db: Database, id: string): Promise<boolean> {
  const rows = await db
    .update(apiKeys)
    .set({ revokedAt: sql`now()` })
    .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt)))
    .returning({ id: apiKeys.id })
  return rows.length > 0
}

export function keyOf(row: typeof apiKeys.$inferSelect): ApiKey {
  const { id, projectId, name, prefix, role, installation, agentId, createdAt, expiresAt, revokedAt } = row
  return {
    id,
    projectId,
    name,
    prefix,
    role,
    policy: row.policy as Policy,
    installation,
    agentId,
    createdAt,
    expiresAt,
    revokedAt,
  }
}

function principalOf(row: typeof apiKeys.$inferSelect): Principal {
  const { id, name, projectId, installation, role, expiresAt, agentId } = row
  return { id, name, projectId, installation, role, expiresAt, agentId, policy: row.policy as Policy }
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
  /** The principal of a key id, when the key still holds. Asks the database each time. */
  principalById(id: string): Promise<Principal | null>
  close(): void
}

/** Without `tokens` only API keys are known. */
export function createAuthenticator(
  house: Pick<House, 'db' | 'bell' | 'clock'>,
  tokens: TokenVerifier | null = null,
): Authenticator {
  const cache = new Map<string, { principal: Principal | null; until: number }>()
  let clearings = 0
  const stop = house.bell.listen((hint) => {
    if (hint.kind !== 'reconnected' && !(hint.kind === 'signal' && hint.name === 'revoked')) return
    clearings++
    cache.clear()
  })
  const find = async (hash: string) => {
    const now = house.clock.now()
    const known = cache.get(hash)
    if (known && known.until > now) return known.principal
    const before = clearings
    const [row] = await house.db
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
      if (!principal || hasExpired(principal, house.clock.now())) throw unauthenticated()
      return principal
    },
    async principalById(id) {
      return principalById(house.db, id, house.clock.now())
    },
    close: stop,
  }
}

/** The principal of a key's or subject's id when the key is neither revoked nor expired. */
export async function principalById(db: Database, id: string, now: number): Promise<Principal | null> {
  const subject = await subjectById(db, id)
  if (subject) return hasExpired(subject, now) ? null : subject
  const [row] = await db
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt)))
  const principal = row ? principalOf(row) : null
  return principal && !hasExpired(principal, now) ? principal : null
}

/**
 * Throws UNAUTHENTICATED when the caller's key was revoked or has expired since it was authenticated, by the database's
 * clock. In a transaction a revocation waits until its end: what is written with the key comes before it.
 */
export async function assertStillValid(tx: Database, { id }: Pick<Principal, 'id'>): Promise<void> {
  const rows = await query(
    tx,
    id.startsWith(subjectPrefix)
      ? sql`select 1 from subjects where id = ${id} and expires_at > clock_timestamp()`
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

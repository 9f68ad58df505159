/** Invitations: API keys whose secret the invited person takes with a link and a code. */
import { and, eq } from 'drizzle-orm'
import * as oneTime from '../../core/one-time-link.ts'
import { newToken, sameText } from '../../core/signing.ts'
import { atomically, query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { apiKeys } from '../../store/db/tables/access.ts'
import { apiKeyAccepted, appendProjectEvents } from '../events/index.ts'
import type { Ctx, Services } from './context.ts'
import { createApiKey, type KeyInput } from './key-operations.ts'
import { keyPrefix, principalOf, storedOf, type ApiKey } from './keys.ts'
import { recordChange } from './permission.ts'

/** Below this path are the pages of invitations. */
export const invitationPath = '/invitation/'
/** How long an invitation can be accepted, in milliseconds. */
const invitationMs = 7 * 24 * 60 * 60 * 1000
/** After so many wrong codes an invitation is dead. */
const maxTries = 5

const kind: oneTime.LinkKind = { token: 'invitation link', code: 'invitation code' }

/** A key that waits for its person. `oneTimeCode` is not part of the link: it goes another way. Neither can be read again. */
export interface Invitation {
  apiKey: ApiKey
  link: string
  oneTimeCode: string
}

/**
 * Invites a person: creates a key as createApiKey does, of which nobody has the secret until it is accepted. Action
 * `keys:Create`. The link can be used once, for seven days at most, and ends with the key and with the key that invited.
 */
export async function createInvitation(
  ctx: Ctx,
  input: Pick<KeyInput, 'projectId' | 'name' | 'role' | 'expiresAt'>,
): Promise<Invitation> {
  const { projectId, name, role, expiresAt } = input
  const until = new Date(ctx.clock.now() + invitationMs)
  const { apiKey } = await createApiKey(ctx, { projectId, name, role, expiresAt }, until)
  const { masterKey, publicUrl } = ctx
  const link = `${publicUrl()}${invitationPath}${oneTime.tokenOf(masterKey, kind, [apiKey.id])}`
  const oneTimeCode = oneTime.shownCode(oneTime.codeOf(masterKey, kind, [apiKey.id]))
  return { apiKey, link, oneTimeCode }
}

/**
 * `refused`: link or code are not valid, whatever the reason: unknown, altered, wrong, dead. Every other outcome is told
 * only to somebody who knows the code.
 */
export type AcceptOutcome =
  { kind: 'accepted'; ctx: Ctx; secret: string } | { kind: 'sentence'; message: string } | { kind: 'refused' }

interface SentInvitation {
  token: string
  code: string
  remoteAddress: string | null
  requestId: string
}

/**
 * Accepts an invitation: gives the key a new secret, which is returned once, and a context that acts with the key. Of
 * any number of requests at once, on any replica, one is accepted, and five wrong codes end the invitation. What cannot
 * be a code, by its last character, is not counted as a try.
 */
export async function acceptInvitation(services: Services, given: SentInvitation): Promise<AcceptOutcome> {
  const { db, masterKey } = services
  const id = oneTime.readToken(masterKey, kind, given.token)?.[0]
  const code = oneTime.readCode(given.code)
  if (typeof id !== 'string' || code === null) return { kind: 'refused' }
  const found = await takeTry(db, id)
  if (!found || !sameText(code, oneTime.codeOf(masterKey, kind, [id]))) return { kind: 'refused' }
  const accepted = await atomically(db, (tx) => giveSecret(services, tx, id, given))
  if (accepted) return { kind: 'accepted', ...accepted }
  await giveBack(db, id)
  return { kind: 'sentence', message: faultOf(found) }
}

/** Gives the key a new secret unless it has one already; the row that this writes is the proof that it may. */
async function giveSecret(
  services: Services,
  tx: Database,
  id: string,
  { remoteAddress, requestId }: SentInvitation,
): Promise<{ ctx: Ctx; secret: string } | null> {
  const secret = newToken(keyPrefix)
  const [row] = await tx
    .update(apiKeys)
    .set({
      ...storedOf(secret),
      invitedUntil: null,
      invitationTries: sql`${apiKeys.invitationTries} - 1`,
    })
    .where(
      and(
        eq(apiKeys.id, id),
        sql`invited_until > now() and revoked_at is null and (expires_at is null or expires_at > now())`,
      ),
    )
    .returning()
  if (!row) return null
  const { projectId } = row
  const ctx: Ctx = { ...services, principal: principalOf(row), requestId, remoteAddress }
  const resource = `key/${id}`
  const details = { name: row.name, invitation: 'accepted' }
  await recordChange(tx, ctx, { projectId, action: 'keys:Create', resource, details })
  await appendProjectEvents(tx, projectId, [apiKeyAccepted({ apiKeyId: id })])
  return { ctx, secret }
}

interface Found {
  isWaiting: boolean
  isRevoked: boolean
}

/** Takes a try before the code is compared; null when none is left, or there is no such key. */
async function takeTry(db: Database, id: string): Promise<Found | null> {
  const [row] = await query<Found>(
    db,
    sql`update api_keys set invitation_tries = invitation_tries + 1
      where id = ${id} and invitation_tries < ${maxTries}::int
      returning invited_until is not null as "isWaiting", revoked_at is not null as "isRevoked"`,
  )
  return row ?? null
}

async function giveBack(db: Database, id: string): Promise<void> {
  await query(db, sql`update api_keys set invitation_tries = invitation_tries - 1 where id = ${id}`)
}

/** Why an invitation with the right code was not accepted, and the way on. */
function faultOf({ isWaiting, isRevoked }: Found): string {
  const why = isRevoked ? 'was withdrawn' : isWaiting ? 'has ended' : 'was accepted already'
  const own = isWaiting || isRevoked ? '' : ' If that was you, sign in with the key that you got then.'
  return `This invitation ${why}.${own} Whoever invited you can send a new one.`
}

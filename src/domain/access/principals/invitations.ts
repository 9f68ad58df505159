/** Invitations: API keys that the invited person takes with a link and a code, as a secret or for an account. */
import { and, eq, asc } from 'drizzle-orm'
import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import * as oneTime from '../../../core/signing.ts'
import { newToken, sameText } from '../../../core/signing.ts'
import { atomically, query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { apiKeys, projects } from '../../../store/db/tables/access.ts'
import { apiKeyAccepted, appendProjectEvents } from '../../events/index.ts'
import type { Ctx, Services } from '../context/context.ts'
import { createKey, newKey } from './key-operations.ts'
import { ApiKey, keyPrefix, loadKeys, principalOf, storedOf } from './keys.ts'
import { operation } from '../context/operation.ts'
import { recordChange } from '../permission/permission.ts'
import { personsOf } from './persons.ts'
import { role } from '../permission/policy.ts'
import { accountHash, isSubject, keepPerson, type Account, type Principal } from './subjects.ts'

/** Below this path are the pages of invitations. */
export const invitationPath = '/invitation/'
/** How long an invitation can be accepted, in milliseconds. */
const invitationMs = 7 * 24 * 60 * 60 * 1000
/** After so many wrong codes an invitation is dead. */
const maxTries = 5

const kind: oneTime.LinkKind = { token: 'invitation link', code: 'invitation code' }

/** The code is not part of the link: it goes another way. The link can be used once, and ends with the key and with the key that invited. */
export const createInvitation = operation({
  name: 'createInvitation',
  does:
    'Invites a person: creates an API key with an unknown secret, and a link with which one person takes it within ' +
    'seven days, as a secret or by joining with an account of the identity provider. revokeApiKey withdraws the invitation.',
  permission: 'keys:Create',
  input: z
    .object({
      ...newKey,
      name: newKey.name.describe('The name of the person, 1 to 100 characters.'),
      role: role.describe('The role of the API key.'),
      expiresAt: newKey.expiresAt.describe(
        'When the API key expires. Default: with the API key that creates it, or never. The link ends with it.',
      ),
    })
    .describe('The API key to which a person is invited.'),
  payload: z
    .object({
      apiKey: ApiKey.describe('The API key that was created.'),
      link: z.string().describe('The URL of a page that asks for the code.'),
      oneTimeCode: z
        .string()
        .describe(
          'The code that the page asks for, as XXXX-XXXX. Send it another way than the link: who has both has the ' +
            'API key. Five wrong codes end the invitation.',
        ),
    })
    .describe('The API key, and what the person needs to take it, which is shown only here.'),
  refuses: ['NOT_FOUND', 'LIMITED'],
  async run(ctx, given) {
    const { apiKey } = await createKey(ctx, given, new Date(ctx.clock.now() + invitationMs))
    const { masterKey, publicUrl } = ctx
    const link = `${publicUrl()}${invitationPath}${oneTime.tokenOf(masterKey, kind, [apiKey.id])}`
    const oneTimeCode = oneTime.shownCode(oneTime.codeOf(masterKey, kind, [apiKey.id]))
    return { apiKey, link, oneTimeCode }
  },
})

/**
 * `refused`: link or code are not valid, whatever the reason: unknown, altered, wrong, dead. Every other outcome is told
 * only to somebody who knows the code.
 */
export type AcceptOutcome =
  | { kind: 'accepted'; ctx: Ctx; secret: string }
  | { kind: 'sentence'; message: string }
  | { kind: 'refused' }

interface SentInvitation {
  token: string
  code: string
  remoteAddress: string | null
  requestId: string
}

/**
 * Whether an invitation can be accepted with this code, which takes no try then. What cannot be a code, by its last
 * character, is not counted as a try; five wrong codes end the invitation.
 */
export async function checkInvitation(
  services: Services,
  given: SentInvitation,
): Promise<{ kind: 'open'; id: string } | Exclude<AcceptOutcome, { kind: 'accepted' }>> {
  const { db, masterKey } = services
  const id = oneTime.readToken(masterKey, kind, given.token)?.[0]
  const code = oneTime.readCode(given.code)
  if (typeof id !== 'string' || code === null) return { kind: 'refused' }
  const isTried = await takeTry(db, id)
  if (!isTried || !sameText(code, oneTime.codeOf(masterKey, kind, [id]))) return { kind: 'refused' }
  await giveBack(db, id)
  const message = await faultOf(db, id)
  return message === null ? { kind: 'open', id } : { kind: 'sentence', message }
}

/**
 * Accepts an invitation: gives the key a new secret, which is returned once, and a context that acts with the key. Of
 * any number of requests at once, on any replica, one is accepted.
 */
export async function acceptInvitation(services: Services, given: SentInvitation): Promise<AcceptOutcome> {
  const checked = await checkInvitation(services, given)
  if (checked.kind !== 'open') return checked
  const { id } = checked
  const secret = newToken(keyPrefix)
  const accepted = await atomically(services.db, (tx) =>
    accept(services, tx, id, { ...given, set: storedOf(secret) }),
  )
  if (accepted) return { kind: 'accepted', ctx: accepted, secret }
  return { kind: 'sentence', message: (await faultOf(services.db, id)) ?? endedMessage }
}

/**
 * Accepts an invitation for a person instead: from now on the key is used by signing in with that account, and by nothing
 * else. `id` is of an invitation whose code this person has typed. Throws CONFLICT when it is not open any more.
 */
export async function joinInvitation(
  services: Services,
  { id, account, ...from }: { id: string; account: Account; remoteAddress: string | null; requestId: string },
): Promise<Ctx> {
  const joined = await atomically(services.db, async (tx) => {
    const [key] = await loadKeys(tx, [id])
    if (!key) return null
    const joinedBy = await keepPerson(tx, account, key.projectId)
    const person = (await isIntroduced(tx, key)) ? joinedBy : null
    return accept(services, tx, id, { ...from, set: { joinedBy, account: accountHash(account), person } })
  })
  if (joined) return joined
  throw new AppError('CONFLICT', (await faultOf(services.db, id)) ?? endedMessage)
}

/**
 * Whether who joins is a person of their own: an operator or somebody known to the identity provider invites. Of any other
 * key nobody can tell whether its holder is the one who joins, so they are one person.
 */
async function isIntroduced(tx: Database, { createdBy }: ApiKey): Promise<boolean> {
  if (createdBy === null) return true
  const inviter = isSubject(createdBy) ? null : (await loadKeys(tx, [createdBy]))[0]
  return !inviter || inviter.installation || isSubject((await personsOf(tx, [createdBy])).get(createdBy)!)
}

type KeyChange = Partial<typeof apiKeys.$inferInsert>

/**
 * Makes an open invitation a key that is used in this way, in the statement that proves that it is open. Null, with nothing
 * written, when it is not.
 */
async function accept(
  services: Services,
  tx: Database,
  id: string,
  { set, remoteAddress, requestId }: { set: KeyChange; remoteAddress: string | null; requestId: string },
): Promise<Ctx | null> {
  const [row] = await tx
    .update(apiKeys)
    .set({ ...set, invitedUntil: null })
    .where(and(eq(apiKeys.id, id), isInvited))
    .returning()
  if (!row) return null
  const { projectId, name, joinedBy } = row
  const ctx: Ctx = { ...services, principal: principalOf(row), requestId, remoteAddress }
  const resource = `key/${id}`
  const details = { name, invitation: 'accepted', ...(joinedBy ? { joinedBy } : {}) }
  await recordChange(tx, ctx, { projectId, action: 'keys:Create', resource, details })
  await appendProjectEvents(tx, projectId, [apiKeyAccepted({ apiKeyId: id })])
  return ctx
}

const isInvited = sql`invited_until > now() and revoked_at is null and (expires_at is null or expires_at > now())`

/** Takes a try before the code is compared; false when none is left, or there is no such key. */
async function takeTry(db: Database, id: string): Promise<boolean> {
  const rows = await query(
    db,
    sql`update api_keys set invitation_tries = invitation_tries + 1
      where id = ${id} and invitation_tries < ${maxTries}::int
      returning 1`,
  )
  return rows.length > 0
}

async function giveBack(db: Database, id: string): Promise<void> {
  await query(db, sql`update api_keys set invitation_tries = invitation_tries - 1 where id = ${id}`)
}

const wayOn = 'Whoever invited you can send a new one.'
const endedMessage = `This invitation has ended. ${wayOn}`

/** Why an invitation cannot be accepted, and the way on; null while it can. */
async function faultOf(db: Database, id: string): Promise<string | null> {
  const [row] = await query<{ isOpen: boolean; isWaiting: boolean; isRevoked: boolean; isJoined: boolean }>(
    db,
    sql`select coalesce(${isInvited}, false) as "isOpen", invited_until is not null as "isWaiting",
        revoked_at is not null as "isRevoked", joined_by is not null as "isJoined"
      from api_keys where id = ${id}`,
  )
  if (!row || row.isOpen) return row ? null : endedMessage
  if (row.isRevoked) return `This invitation was withdrawn. ${wayOn}`
  if (row.isWaiting) return endedMessage
  const own = row.isJoined ? 'your account' : 'the key that you got then'
  return `This invitation was accepted already. If that was you, sign in with ${own}. ${wayOn}`
}

/** A key with the name of its project. */
export interface JoinedKey {
  principal: Principal
  projectName: string
}

/** The most keys of one account among which a person chooses. */
const mostKeys = 100

/** The keys that an account has joined and that have not ended, oldest first. */
export async function keysOfAccount(
  db: Database,
  account: Pick<Account, 'issuer' | 'subject'>,
): Promise<JoinedKey[]> {
  const rows = await db
    .select({ key: apiKeys, projectName: projects.name })
    .from(apiKeys)
    .innerJoin(projects, eq(projects.id, apiKeys.projectId))
    .where(
      and(
        eq(apiKeys.account, accountHash(account)),
        sql`${apiKeys.revokedAt} is null and (${apiKeys.expiresAt} is null or ${apiKeys.expiresAt} > now())`,
      ),
    )
    .orderBy(asc(apiKeys.createdAt), asc(apiKeys.id))
    .limit(mostKeys)
  return rows.map(({ key, projectName }) => ({ principal: principalOf(key), projectName }))
}

/**
 * Logins for upstreams: a person confirms in a browser, logs in at the authorization server, and that browser returns
 * once.
 */
import { extractWWWAuthenticateParams, type AuthProvider } from '@modelcontextprotocol/client'
import { type Services, assertMay, operation, reachable, recordChange, type Ctx } from '../../access/index.ts'
import { type Challenge, runFlow } from './auth.ts'
import { faultOf, UpstreamFault } from '../fault.ts'
import { openLink } from '../wire/link.ts'
import { type UpstreamTarget, targetOf } from '../target.ts'
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { writeJson } from '../../../core/json.ts'
import { AppError } from '../../../core/errors.ts'
import { newToken, sha256Hex } from '../../../core/signing.ts'
import { atomically, nowPlus, query } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { upstreamLogins } from '../../../store/db/tables/upstreams.ts'
import { madeDue } from '../../../store/work/work.ts'
import { seal } from '../../secrets/index.ts'
import { openAuth } from '../auth-config.ts'
import {
  isState,
  auditLogin,
  openSealed,
  sealContext,
  type LoginOutcome,
  type SealedLogin,
} from './login-confirm.ts'
import { loginPath, type LoginAttempt } from './oauth.ts'
import { forgetTokens } from '../save.ts'
import { loadRows, ofUpstream, toolOfUpstream, type UpstreamRow } from '../state.ts'
import { connectPerson } from './person-logins.ts'
import { databaseTokenStore, type TokenOwner } from './tokens.ts'

const connectMs = 10_000

/**
 * Connects without a token. When the server accepts that, its metadata, if any, is at the URL of the specification or
 * at `knownMetadataUrl`. Throws an UpstreamFault when the server cannot be reached.
 */
async function findChallenge(
  services: Services,
  target: UpstreamTarget,
  knownMetadataUrl: string | null,
): Promise<Challenge> {
  let challenge: Challenge | null = null
  const auth: AuthProvider = {
    token: async () => undefined,
    onUnauthorized({ response }) {
      const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
      challenge = { metadataUrl: resourceMetadataUrl?.href ?? null, scope: scope ?? null }
      return Promise.reject(new UpstreamFault('authorization_required', 'The server requires authorization.'))
    },
  }
  try {
    const link = await openLink(services, target, { protocol: null, auth, timeoutMs: connectMs })
    await link.close()
  } catch (error) {
    if (!challenge) throw faultOf(error)
  }
  return challenge ?? { metadataUrl: knownMetadataUrl, scope: null }
}

/** Time to finish a login, in milliseconds. */
const loginMs = 10 * 60_000
/** Open logins that one upstream may have. */
const maxLogins = 20

/** INVALID for an upstream that needs no login. A person confirms the login before it begins: see confirmLogin. */
export const connectUpstream = operation({
  name: 'connectUpstream',
  does: 'Starts a login of a person at the authorization server of an upstream.',
  permission: 'tools:Connect',
  input: ofUpstream,
  payload: z
    .object({
      url: z
        .string()
        .describe(
          'The URL to open in a browser within ten minutes; the page asks for confirmation first. The login works once, in ' +
            'that browser only.',
        ),
    })
    .describe('The URL at which the login begins.'),
  refuses: ['NOT_FOUND', 'UPSTREAM'],
  async run(ctx, { toolId }) {
    const row = await findUpstream(ctx, toolId)
    if ((row.config.auth ?? openAuth).kind !== 'authorization_code')
      throw new AppError(
        'INVALID',
        'This upstream gets its tokens without a login of its own: with credentials, or for sign-ins, see logInToUpstream.',
      )
    return { url: await startLogin(ctx, row) }
  },
})

/** Starts a login, for the tokens of this owner. Returns the URL of the page on which it is confirmed. */
export async function startLogin(ctx: Ctx, owner: UpstreamRow & Pick<TokenOwner, 'person'>): Promise<string> {
  const { id, projectId, configVersion, person = null } = owner
  const state = newToken('')
  const login: LoginAttempt = { state }
  const challenge = await beginLogin(ctx, owner, login)
  const { url, verifier, discovery } = login
  const sealed = { url: url!, verifier: verifier!, discovery: discovery!, challenge } satisfies SealedLogin
  await atomically(ctx.db, async (tx) => {
    await deleteOldLogins(tx, id, person)
    await tx.insert(upstreamLogins).values({
      stateHash: sha256Hex(state),
      upstreamId: id,
      projectId,
      configVersion,
      sealed: seal(ctx.masterKey, writeJson(sealed), sealContext(id)),
      startedBy: ctx.principal.id,
      person,
      expiresAt: nowPlus(loginMs),
    })
    const details = person === null ? {} : { person }
    await recordChange(tx, ctx, { projectId, action: 'tools:Connect', resource: `tool/${id}`, details })
  })
  return `${ctx.publicUrl()}${loginPath}?state=${state}`
}

async function beginLogin(ctx: Ctx, owner: TokenOwner, login: LoginAttempt): Promise<Challenge> {
  const store = databaseTokenStore(ctx, owner)
  try {
    const target = await targetOf(ctx, owner.projectId, owner.config)
    const stored = await store.read()
    const challenge = await findChallenge(ctx, target, stored.metadataUrl)
    await runFlow(ctx, owner, target, { stored, save: (change) => store.save(change), challenge, login })
    if (!login.url || !login.verifier || !login.discovery)
      throw new UpstreamFault('authorization_failed', 'The authorization server does not support this login.')
    if (!/^https?:/.test(login.url))
      throw new UpstreamFault('authorization_failed', 'The authorization server has no http or https URL.')
    return challenge
  } catch (error) {
    const fault = faultOf(error)
    throw new AppError('UPSTREAM', fault.message, {}, error)
  }
}

/**
 * Finishes a login, by the parameters of the callback and the secret of the browser's cookie. The state can be used
 * once, whatever the outcome, and only in the browser that confirmed it. The issuer is checked before the code is sent
 * to a token endpoint. A repeated call returns `expired`.
 */
export async function finishLogin(
  services: Services,
  params: URLSearchParams,
  browser: string | null,
): Promise<LoginOutcome> {
  const state = params.get('state') ?? ''
  if (!isState(state)) return 'expired'
  const taken = await takeLogin(services, state, browser)
  if (!taken) return (await isOpen(services, state)) ? 'elsewhere' : 'expired'
  const [row] = await loadRows(services.db, [taken.upstreamId])
  if (!row || row.configVersion !== taken.configVersion) return 'expired'
  const code = params.get('code')
  if (!code) {
    await auditLogin(services, row, taken.startedBy, 'refused')
    return 'refused'
  }
  const { verifier, discovery, challenge } = openSealed(services, row.id, taken.sealed)
  const { person, startedBy } = taken
  const owner = person === null ? row : { ...row, person }
  const store = databaseTokenStore(services, owner)
  try {
    await runFlow(services, owner, await targetOf(services, row.projectId, row.config), {
      stored: await store.read(),
      save: (change) => store.save(change),
      challenge,
      login: { verifier, discovery },
      returned: { code, iss: params.get('iss') ?? undefined },
    })
    // A renewal finds the authorization server by it.
    if (challenge.metadataUrl !== null) await store.save({ metadataUrl: challenge.metadataUrl })
  } catch (error) {
    services.log.warn({ err: error, id: row.id }, 'a login for an upstream failed')
    await auditLogin(services, row, startedBy, 'failed')
    return 'failed'
  }
  const outcome = await (person === null
    ? reconnect(services, row, startedBy).then(() => 'connected' as const)
    : connectPerson(services, row, person, startedBy))
  await auditLogin(services, row, startedBy, outcome)
  return outcome
}

export const disconnectUpstream = operation({
  name: 'disconnectUpstream',
  does: 'Deletes the OAuth tokens, the client registration and the pending logins of an upstream.',
  permission: 'tools:Connect',
  input: ofUpstream,
  payload: toolOfUpstream,
  refuses: ['NOT_FOUND'],
  async run(ctx, { toolId }) {
    const row = await findUpstream(ctx, toolId)
    await atomically(ctx.db, async (tx) => {
      await forgetTokens(tx, row.id)
      await recordChange(tx, ctx, {
        projectId: row.projectId,
        action: 'tools:Connect',
        resource: `tool/${row.id}`,
        details: { disconnected: true },
      })
    })
    await reconnect(ctx, row, null)
    return { tool: toolId }
  },
})

/** Returns the row when the caller can reach it and may connect it. */
async function findUpstream(ctx: Ctx, id: string): Promise<UpstreamRow> {
  const [found] = await loadRows(ctx.db, [id])
  const row = reachable(ctx, found, 'upstream', id)
  await assertMay(ctx, 'tools:Connect', row.projectId, `tool/${id}`)
  return row
}

async function isOpen(services: Services, state: string): Promise<boolean> {
  const rows = await query(
    services.db,
    sql`
      select 1
      from upstream_logins
      where state_hash = ${sha256Hex(state)}
        and expires_at > now()`,
  )
  return rows.length > 0
}

interface TakenLogin {
  upstreamId: string
  configVersion: number
  sealed: string
  startedBy: string
  /** The person whose own login it is; null for the login that everybody shares. */
  person: string | null
}

/** Deletes the login and returns it, once, for the browser that confirmed it. */
async function takeLogin(
  services: Services,
  state: string,
  browser: string | null,
): Promise<TakenLogin | null> {
  if (browser === null) return null
  const [taken] = await query<TakenLogin & { valid: boolean }>(
    services.db,
    sql`
      delete from upstream_logins
      where state_hash = ${sha256Hex(state)}
        and browser_hash = ${sha256Hex(browser)}
      returning
        upstream_id as "upstreamId",
        config_version as "configVersion",
        sealed,
        started_by as "startedBy",
        person,
        expires_at > now() as valid`,
  )
  return taken?.valid ? taken : null
}

/** Deletes expired logins, and the oldest ones of this person at the upstream, or of all for whom it shares one, when there are too many. */
async function deleteOldLogins(tx: Ctx['db'], id: string, person: string | null): Promise<void> {
  await query(tx, sql`delete from upstream_logins where expires_at <= now()`)
  await tx.delete(upstreamLogins).where(
    sql`
      ${eq(upstreamLogins.upstreamId, id)}
      and person is not distinct from ${person}::text
      and state_hash not in (
        select state_hash
        from upstream_logins
        where upstream_id = ${id} and person is not distinct from ${person}::text
        order by created_at desc
        limit ${maxLogins - 1}
      )`,
  )
}

/**
 * Raises the configuration's version, so that connections with other tokens are no longer used, refreshes now, and notes
 * whose login it was; null after the end of a login.
 */
async function reconnect(services: Services, row: UpstreamRow, by: string | null): Promise<void> {
  await query(
    services.db,
    sql`
      with l as (
        update upstream_tokens
        set connected_by = ${by}, connected_at = now()
        where upstream_id = ${row.id} and sealed is not null and ${by !== null}::boolean
      )
      update upstreams
      set config_version = config_version + 1,
        failures = 0,
        retry_at = null,
        ${madeDue}
      where id = ${row.id}`,
  )
  services.pubsub.publish([{ kind: 'work', table: 'upstreams' }])
}

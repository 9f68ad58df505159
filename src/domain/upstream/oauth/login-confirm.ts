/**
 * An open login: what its row seals, and the page on which a person confirms it, which ties it to that person's
 * browser.
 */
import type { OAuthDiscoveryState } from '@modelcontextprotocol/client'
import { readJson } from '../../../core/json.ts'
import type { Services } from '../../access/index.ts'
import { record } from '../../audit/index.ts'
import { unseal } from '../../secrets/index.ts'
import type { Challenge } from './auth.ts'
import { sha256Hex } from '../../../core/signing.ts'
import { query } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'

/** The outcome of a login, shown on the page. `elsewhere`: another browser confirmed it, or none did. */
export type LoginOutcome = 'connected' | 'expired' | 'elsewhere' | 'refused' | 'failed'

/** What a login needs from its start to the authorization server's redirect. */
export interface SealedLogin {
  /** The URL of the authorization server for this login. */
  url: string
  verifier: string
  discovery: OAuthDiscoveryState
  challenge: Challenge
}

/** Decrypts what was sealed for a login of this upstream. */
export function openSealed(services: Services, id: string, sealed: string): SealedLogin {
  return readJson(unseal(services.masterKey, sealed, sealContext(id))) as SealedLogin
}

/** Whether a text has the format of a login's state. */
export function isState(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text)
}

/** Writes an audit entry about a login. */
export async function auditLogin(
  services: Services,
  row: { id: string; projectId: string },
  principalId: string,
  outcome: LoginOutcome | 'confirmed',
): Promise<void> {
  await record(services.db, {
    projectId: row.projectId,
    principalId,
    action: 'tools:Connect',
    resource: `tool/${row.id}`,
    outcome: outcome === 'connected' || outcome === 'confirmed' ? 'ALLOWED' : 'DENIED',
    details: { login: outcome },
  })
}

export function sealContext(id: string): string {
  return `upstream-login/${id}`
}

/** What the page asks the person to confirm. Its names are untrusted text. */
export interface LoginQuestion {
  tool: string
  project: string
  /** The name of the key or person that started it. */
  startedBy: string
  /** The host of the authorization server. */
  host: string
  /** The person whose own login it is, and who confirms it in a browser that is signed in; null for that of everybody. */
  person: string | null
}

/** Reads what a login is for; null when no open login has this state. Changes nothing. */
export async function readLogin(services: Services, state: string): Promise<LoginQuestion | null> {
  if (!isState(state)) return null
  const [row] = await query<Omit<LoginQuestion, 'host'> & { id: string; sealed: string }>(
    services.db,
    sql`
      select
        l.upstream_id as id,
        l.sealed,
        coalesce(t.name, l.upstream_id) as tool,
        coalesce(p.name, l.project_id) as project,
        coalesce(k.name, s.name, l.started_by) as "startedBy",
        l.person
      from upstream_logins as l
      left join tools as t on t.id = l.upstream_id
      left join projects as p on p.id = l.project_id
      left join api_keys as k on k.id = l.started_by
      left join subjects as s on s.id = l.started_by
      where l.state_hash = ${sha256Hex(state)}
        and l.expires_at > now()`,
  )
  if (!row) return null
  const { id, sealed, ...named } = row
  const { url } = openSealed(services, id, sealed)
  // Logins that older versions started have no page and must be started again.
  return URL.canParse(url) ? { ...named, host: new URL(url).host } : null
}

/**
 * Confirms a login in the browser whose cookie holds the secret `browser`. Returns the URL of the authorization server.
 * Only this browser can finish the login: a login link sent to another person cannot attach that person's account
 * unasked. Null when there is no such login, or another browser has confirmed it.
 */
export async function confirmLogin(
  services: Services,
  state: string,
  browser: string,
): Promise<string | null> {
  if (!isState(state)) return null
  const browserHash = sha256Hex(browser)
  const [row] = await query<{ id: string; projectId: string; startedBy: string; sealed: string }>(
    services.db,
    sql`
      update upstream_logins
      set browser_hash = ${browserHash}
      where state_hash = ${sha256Hex(state)}
        and expires_at > now()
        and (browser_hash is null or browser_hash = ${browserHash})
      returning
        upstream_id as id,
        project_id as "projectId",
        started_by as "startedBy",
        sealed`,
  )
  if (!row) return null
  await auditLogin(services, row, row.startedBy, 'confirmed')
  return openSealed(services, row.id, row.sealed).url
}

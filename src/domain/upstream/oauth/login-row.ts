/** An open login: the content that its row seals, the format of its state, and its audit entries. */
import type { OAuthDiscoveryState } from '@modelcontextprotocol/client'
import { readJson } from '../../../core/json.ts'
import type { Services } from '../../access/index.ts'
import { record } from '../../audit/index.ts'
import { unseal } from '../../secrets/index.ts'
import type { Challenge } from './auth.ts'

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

/** A login on its way: what its row seals, the form of its state, and what is written of how it goes. */
import type { OAuthDiscoveryState } from '@modelcontextprotocol/client'
import type { Services } from '../access/index.ts'
import { record } from '../audit/index.ts'
import { unseal } from '../secrets/index.ts'
import type { Challenge } from './auth.ts'

/** What became of a login: the page says it in words. `elsewhere`: another browser confirmed it, or none. */
export type LoginOutcome = 'connected' | 'expired' | 'elsewhere' | 'refused' | 'failed'

/** What a login needs for its way out and back. */
export interface SealedLogin {
  /** Where the person goes once it is confirmed. */
  url: string
  verifier: string
  discovery: OAuthDiscoveryState
  challenge: Challenge
}

/** What was sealed for a login of that upstream. */
export function opened(services: Services, id: string, sealed: string): SealedLogin {
  return JSON.parse(unseal(services.masterKey, sealed, sealContext(id))) as SealedLogin
}

/** Whether a text has the form of our states. */
export function isState(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text)
}

/** Records how a login goes, for the audit. */
export async function note(
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

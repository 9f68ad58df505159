/** Events of API keys and of the project itself. */
import { kindsOf, projectOnly } from './define.ts'

type KeyFacts = { apiKeyId: string }

export interface AccessEvents {
  API_KEY_ACCEPTED: KeyFacts
  API_KEY_CREATED: KeyFacts
  API_KEY_REVOKED: KeyFacts
  PROJECT_UPDATED: Record<never, never>
}

const kind = kindsOf<AccessEvents>()

export const apiKeyAccepted = kind('API_KEY_ACCEPTED', projectOnly)
export const apiKeyCreated = kind('API_KEY_CREATED', projectOnly)
export const apiKeyRevoked = kind('API_KEY_REVOKED', projectOnly)
export const projectUpdated = kind('PROJECT_UPDATED', projectOnly)

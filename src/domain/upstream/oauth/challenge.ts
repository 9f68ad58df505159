/**
 * Reads what an unauthenticated request to a server reveals: the URL of its metadata and the scopes that it requires.
 */
import { extractWWWAuthenticateParams, type AuthProvider } from '@modelcontextprotocol/client'
import type { Services } from '../../access/index.ts'
import type { Challenge } from './auth.ts'
import { faultOf, UpstreamFault } from '../fault.ts'
import { openLink } from '../wire/link.ts'
import type { UpstreamTarget } from '../target.ts'

const connectMs = 10_000

/**
 * Connects without a token. When the server accepts that, its metadata, if any, is at the URL of the specification or
 * at `knownMetadataUrl`. Throws an UpstreamFault when the server cannot be reached.
 */
export async function findChallenge(
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

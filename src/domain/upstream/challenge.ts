/** What a server says when nobody has proved anything to it: where its metadata is, and which rights it wants. */
import { extractWWWAuthenticateParams, type AuthProvider } from '@modelcontextprotocol/client'
import type { Services } from '../access/index.ts'
import type { Challenge } from './auth.ts'
import { faultOf, UpstreamFault } from './fault.ts'
import { openLink } from './link.ts'
import type { Target } from './target.ts'

const askMs = 10_000

/**
 * Knocks without a token. A server that lets us in has its metadata, if any, where the specification puts it, or where
 * it said before. Throws an UpstreamFault when it cannot be reached.
 */
export async function findChallenge(
  services: Services,
  target: Target,
  knownMetadataUrl: string | null,
): Promise<Challenge> {
  let heard: Challenge | null = null
  const auth: AuthProvider = {
    token: async () => undefined,
    onUnauthorized({ response }) {
      const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
      heard = { metadataUrl: resourceMetadataUrl?.href ?? null, scope: scope ?? null }
      return Promise.reject(new UpstreamFault('authorization_required', 'The server wants to be authorized.'))
    },
  }
  try {
    const link = await openLink(services, target, { verdict: null, auth, timeoutMs: askMs })
    await link.close()
  } catch (error) {
    if (!heard) throw faultOf(error)
  }
  return heard ?? { metadataUrl: knownMetadataUrl, scope: null }
}

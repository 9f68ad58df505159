/** A real OpenID provider (oidc-provider) on loopback, at which this server is registered to sign people in. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { exportJWK } from 'jose'
import { importPeer } from './peers.ts'

export const webClient = { id: 'gatehouse', secret: 'a-secret-of-32-characters-or-more' }

/** The configuration of a server that signs people in at the provider on this port. */
export const oidcAt = (port: number) => ({
  issuer: `http://127.0.0.1:${port}`,
  audiences: [],
  jwksUrl: null,
  projectClaim: 'gatehouse_project',
  roleClaim: 'gatehouse_role',
  client: { ...webClient, scopes: 'openid profile email' },
  exchangeIssuers: [] as string[],
})

/** Follows redirects of the provider until the browser is back at this server, with the cookies of each origin apart. */
export async function atProvider(location: string, serverUrl: string): Promise<string> {
  const cookies = new Map<string, string>()
  let url = location
  for (let hops = 0; hops < 10 && !url.startsWith(serverUrl); hops++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [name, value] = line.split(';')[0]!.split(/=(.*)/s)
      cookies.set(name!, value!)
    }
    await response.text()
    url = new URL(response.headers.get('location')!, url).href
  }
  return url.slice(serverUrl.length)
}

export interface IdentityProvider {
  issuer: string
  /** Who logs in next, with these claims in addition to `sub`. */
  person: { sub: string; claims: Record<string, unknown> }
  /** Where the claims are: in the ID token, or only at the userinfo endpoint. */
  claimsIn: 'id_token' | 'userinfo'
  /** The lifetime of ID tokens and access tokens, in seconds. */
  ttl: number
  /** Ends what it has issued to this person. */
  end(sub: string): Promise<void>
  /** Every request, as `POST /token`. */
  requests: string[]
  close(): Promise<void>
}

/** What a provider has beside sign-ins. */
export interface ProviderMore {
  /** The grants of the client that signs people in. */
  grantTypes: string[]
  clients: object[]
  /** Adds grants, with the key that signs the provider's tokens. */
  extend(provider: any, privateKey: KeyObject): void
}

/** Starts it on this port; the server that signs in returns to one of these URIs. Logs everybody in without asking. */
export async function startIdentityProvider(
  port: number,
  redirectUris: string[],
  more?: ProviderMore,
): Promise<IdentityProvider> {
  const issuer = `http://127.0.0.1:${port}`
  const made: IdentityProvider = {
    issuer,
    person: { sub: 'ada', claims: {} },
    claimsIn: 'id_token',
    ttl: 3600,
    async end(sub) {
      for (const id of grants.get(sub) ?? [])
        for (const kind of [provider.AccessToken, provider.RefreshToken]) await kind.revokeByGrantId(id)
    },
    requests: [],
    close: async () => {},
  }
  const grants = new Map<string, string[]>()
  const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const { Provider } = await importPeer<typeof import('oidc-provider')>('oidc-provider')
  const names = ['gatehouse_project', 'gatehouse_role', 'name']
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: webClient.id,
        client_secret: webClient.secret,
        grant_types: more?.grantTypes ?? ['authorization_code'],
        redirect_uris: redirectUris,
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
      ...((more?.clients ?? []) as never[]),
    ],
    jwks: { keys: [{ ...(await exportJWK(key)), alg: 'RS256', use: 'sig', kid: 'one' }] as never },
    scopes: ['openid', 'profile', 'email', 'offline_access'],
    ttl: { AccessToken: () => made.ttl, IdToken: () => made.ttl },
    issueRefreshToken: async () => more?.grantTypes.includes('refresh_token') ?? false,
    rotateRefreshToken: true,
    claims: { openid: ['sub'], profile: names },
    // Without it claims of scopes are only at the userinfo endpoint, as the specification wants it.
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    findAccount: (_ctx, id) => ({
      accountId: id,
      claims: (use) => ({ sub: id, ...(use === made.claimsIn ? made.person.claims : {}) }),
    }),
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    async loadExistingGrant(ctx) {
      const { client, session } = ctx.oidc
      const Grant = ctx.oidc.provider.Grant
      const grant = new Grant({ clientId: client!.clientId, accountId: session!.accountId! })
      grant.addOIDCScope('openid profile email')
      const id = await grant.save()
      grants.set(session!.accountId!, [...(grants.get(session!.accountId!) ?? []), id])
      return grant
    },
    cookies: { keys: ['only for tests'] },
  })
  more?.extend(provider, key)
  const answer = provider.callback()
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    made.requests.push(`${request.method} ${request.url!.split('?')[0]}`)
    if (!request.url!.startsWith('/interaction/')) return void answer(request, response)
    const login = { accountId: made.person.sub }
    void provider.interactionFinished(request, response, { login, consent: {} })
  })
  server.on('connection', (socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  made.close = () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      sockets.forEach((socket) => socket.destroy())
    })
  return made
}

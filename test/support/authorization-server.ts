/** A real authorization server (oidc-provider) on loopback, and an MCP server that accepts only its tokens. */
import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { createRemoteJWKSet, exportJWK, jwtVerify } from 'jose'
import { importPeer } from './peers.ts'
import { freePort, type ModernServer } from './upstream-servers.ts'

export const clientSecret = 'a-secret-of-32-characters-or-more'
const signing = generateKeyPairSync('rsa', { modulusLength: 2048 })
/** The key of the client `jwt-client`, as PEM. */
export const clientKey = signing.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

export interface AuthorizationServer {
  issuer: string
  /** Issued tokens, oldest first. */
  granted: { grant_type: string; resource: unknown; scope: unknown; client_id: string }[]
  /** Every request, as `POST /token`. */
  requests: string[]
  /** Lifetime of access tokens issued from now on, in seconds. */
  ttl: number
  /** As whom a browser without a session is logged in. */
  account: string
  close(): Promise<void>
}

/**
 * Knows `service` (a secret), `jwt-client` (a key) and registered clients; logs every person in as `account`
 * without asking.
 */
export async function startAuthorizationServer(redirectUri: string): Promise<AuthorizationServer> {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const made: AuthorizationServer = {
    issuer,
    granted: [],
    requests: [],
    ttl: 300,
    account: 'ada',
    close: async () => {},
  }
  const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const { Provider } = await importPeer<typeof import('oidc-provider')>('oidc-provider')
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'service',
        client_secret: clientSecret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
      {
        client_id: 'jwt-client',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [{ ...(await exportJWK(signing.publicKey)), alg: 'RS256', use: 'sig' }] as never },
      },
      {
        client_id: 'people',
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: [redirectUri],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
    ],
    jwks: { keys: [{ ...(await exportJWK(key)), alg: 'RS256', use: 'sig', kid: 'one' }] as never },
    scopes: ['openid', 'offline_access', 'mcp:read', 'mcp:write'],
    clientAuthMethods: ['client_secret_basic', 'private_key_jwt', 'none'],
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, resource) => ({
          scope: 'mcp:read mcp:write',
          audience: resource,
          accessTokenTTL: made.ttl,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    async loadExistingGrant(ctx) {
      const { client, session, params } = ctx.oidc
      const grant = new ctx.oidc.provider.Grant({
        clientId: client!.clientId,
        accountId: session!.accountId!,
      })
      grant.addOIDCScope('openid offline_access mcp:read mcp:write')
      grant.addResourceScope(String(params!['resource']), 'mcp:read mcp:write offline_access')
      await grant.save()
      return grant
    },
    cookies: { keys: ['only for tests'] },
  })
  provider.on('grant.success', (ctx) => {
    const { grant_type, resource, scope } = ctx.oidc.params as Record<string, string>
    made.granted.push({ grant_type: grant_type!, resource, scope, client_id: ctx.oidc.client!.clientId })
  })
  const answer = provider.callback()
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    made.requests.push(`${request.method} ${request.url!.split('?')[0]}`)
    if (request.url!.startsWith('/interaction/'))
      return void provider.interactionFinished(request, response, {
        login: { accountId: made.account },
        consent: {},
      })
    void answer(request, response)
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

/** The path of the protected resource metadata in this example: not the one of the specification. */
const metadataPath = '/mcp/.well-known/oauth-protected-resource'

/**
 * Makes the server refuse requests without a token of this issuer for this very address. `named` is the resource that
 * its metadata names, when that is not its own.
 */
export function protect(
  server: ModernServer,
  issuer: string,
  named: { metadataUrl?: string; issuer?: string; resource?: string } = {},
): { refused: string[] } {
  const refused: string[] = []
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`))
  const own = `http://127.0.0.1:${server.port}`
  server.guard = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.url === metadataPath) {
      const metadata = {
        resource: named.resource ?? server.url,
        authorization_servers: [named.issuer ?? issuer],
        scopes_supported: ['mcp:read'],
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata))
      return true
    }
    if (request.url !== '/mcp') {
      response.writeHead(404).end()
      return true
    }
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
    try {
      await jwtVerify(token ?? '', keys, { issuer, audience: server.url })
      return false
    } catch (error) {
      if (token) refused.push((error as Error).message)
      const metadataUrl = named.metadataUrl ?? own + metadataPath
      response
        .writeHead(401, {
          'www-authenticate': `Bearer resource_metadata="${metadataUrl}", error="invalid_token"`,
        })
        .end()
      return true
    }
  }
  return { refused }
}

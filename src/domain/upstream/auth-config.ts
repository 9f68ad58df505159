/** How Gatehouse authenticates to a protected MCP server: the OAuth grants, as they are given and as they are kept. */
import { z } from 'zod'
import { text } from '../../core/check.ts'
import type { Issue } from '../../core/errors.ts'
import { choice, oneOf, optional, part, scalar } from '../../core/shapes.ts'

interface ResourceIndicator {
  /** True: no `resource` (RFC 8707) is sent, for authorization servers that refuse it. Absent: it is. */
  omitResource?: true | undefined
}

/** Gatehouse authenticates as itself with a client secret (RFC 6749, section 4.4). */
export interface ClientCredentials extends ResourceIndicator {
  kind: 'client_credentials'
  clientId: string
  /** The name of the secret. */
  clientSecret: string
  /** The only authorization server that receives the secret. */
  issuer: string
  scopes: string[]
}

/** Gatehouse authenticates as itself with a signed assertion instead of a secret (RFC 7523, section 2.2). */
export interface PrivateKeyJwt extends ResourceIndicator {
  kind: 'private_key_jwt'
  clientId: string
  /** The name of the secret that holds the key, as PEM (PKCS #8). */
  privateKey: string
  algorithm: string
  issuer: string
  scopes: string[]
}

/** A person grants access in a browser (authorization code with PKCE). */
export interface AuthorizationCode extends ResourceIndicator {
  kind: 'authorization_code'
  /** Null: Gatehouse uses its client metadata document, or dynamic registration. */
  clientId: string | null
  /** The name of the secret of a registered confidential client. */
  clientSecret: string | null
  issuer: string | null
  /** The scopes to request; empty: those that the server names. */
  scopes: string[]
  /** Further scopes that may be requested later, when a call needs them. */
  allowedScopes: string[]
}

/**
 * Gatehouse exchanges the sign-in of the person for whom a call is made (RFC 8693), or an assertion that the identity provider
 * makes of it (ID-JAG), where the authorization server takes these.
 */
export interface TokenExchange extends ResourceIndicator {
  kind: 'token_exchange'
  clientId: string
  /** The name of the secret that holds the client secret; null with a private key. */
  clientSecret: string | null
  /** The name of the secret that holds the key, as PEM (PKCS #8). It also signs who acts. */
  privateKey: string | null
  algorithm: string | null
  issuer: string
  scopes: string[]
  /** Sent as `audience`; null: none is. */
  audience: string | null
}

export type UpstreamAuth = ClientCredentials | PrivateKeyJwt | AuthorizationCode | TokenExchange

/** The name of the secret with which Gatehouse authenticates; null for none. */
export function secretOfAuth(auth: UpstreamAuth): string | null {
  if (auth.kind === 'private_key_jwt') return auth.privateKey
  return auth.kind === 'token_exchange' ? (auth.privateKey ?? auth.clientSecret) : auth.clientSecret
}

/** Used when `auth` is null: Gatehouse registers itself and requests the scopes that the server names. */
export const openAuth: AuthorizationCode = {
  kind: 'authorization_code',
  clientId: null,
  clientSecret: null,
  issuer: null,
  scopes: [],
  allowedScopes: [],
}

const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'] as const

const algorithm = scalar('String', z.enum(algorithms, `must be one of ${algorithms.join(', ')}`))
const secretName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'must be the name of a secret')
const issuer = z.string().max(2048).refine(isWebAddress, 'must be an https address (http on loopback only)')
const scopes = z
  .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, 'must be a scope: visible ASCII, no space'))
  .max(50)
const clientId = text(2048, 1)

/** What some fields mean, given and shown. */
export const authMeanings = {
  clientId: 'The OAuth client id of Gatehouse at the authorization server.',
  issuer: 'The issuer URL of the only authorization server that receives these credentials.',
  scopes: 'The OAuth scopes to request. Empty: the scopes that the server asks for.',
  allowedScopes: 'The OAuth scopes that may be requested later, when a call needs more.',
  omitResource:
    'Whether token requests leave out `resource` (RFC 8707), for authorization servers that refuse it, such as Microsoft Entra ID.',
  audience:
    'The audience of the exchanged token, for an authorization server that goes by `audience` (RFC 8693) in place of `resource`. ' +
    'An assertion (ID-JAG) has that authorization server for its audience.',
  algorithm: 'The JWS algorithm of the signature: RS256, PS256, ES256 or one of their longer forms.',
}

export const authKind = choice(
  'UpstreamAuthKind',
  'The OAuth grant with which Gatehouse gets tokens for a protected MCP server.',
  {
    client_credentials: 'Client credentials (RFC 6749, 4.4): a client id and a secret.',
    private_key_jwt: 'Client credentials with a signed assertion (RFC 7523, 2.2) in place of a secret.',
    authorization_code: 'Authorization code with PKCE: a person logs in with a browser, see connectUpstream.',
    token_exchange: 'Token exchange (RFC 8693): of the sign-in of the person for whom a call is made.',
  },
)

const client = {
  clientId: clientId.describe(authMeanings.clientId),
  issuer: issuer.describe(authMeanings.issuer),
  scopes: scopes.nullish().describe(authMeanings.scopes),
  omitResource: z.boolean().nullish().describe(authMeanings.omitResource),
}
/** The grants as they are given: exactly one of them. */
export const authInput = oneOf(
  'UpstreamAuthInput',
  'How Gatehouse authenticates to a protected MCP server: exactly one of the grants.',
  'give exactly one of the grants',
  {
    clientCredentials: part(
      'ClientCredentialsInput',
      'The OAuth client credentials grant with a client id and a secret (RFC 6749, 4.4).',
      {
        ...client,
        clientSecret: secretName.describe('The name of the secret that holds the client secret.'),
      },
    ).describe('Client credentials with a secret.'),
    privateKeyJwt: part(
      'PrivateKeyJwtInput',
      'The OAuth client credentials grant with a signed assertion (RFC 7523, 2.2).',
      {
        ...client,
        privateKey: secretName.describe('The name of the secret that holds the private key as PEM.'),
        algorithm: algorithm.describe(authMeanings.algorithm),
      },
    ).describe('Client credentials with a signed assertion.'),
    authorizationCode: part(
      'AuthorizationCodeInput',
      'The OAuth authorization code grant with PKCE: a person logs in with a browser.',
      {
        clientId: optional(
          clientId.describe('The client id of a registered client.'),
          'Gatehouse registers itself as a client',
        ),
        clientSecret: secretName
          .nullish()
          .describe(
            'The name of the secret that holds the client secret of a registered, confidential client.',
          ),
        issuer: client.issuer.nullish(),
        scopes: client.scopes,
        allowedScopes: scopes.nullish().describe(authMeanings.allowedScopes),
        omitResource: client.omitResource,
      },
    ).describe('Authorization code: a person logs in.'),
    tokenExchange: part(
      'TokenExchangeInput',
      'The OAuth token exchange grant (RFC 8693) with the sign-in of the person for whom a call is made; where the ' +
        'authorization server offers it, with an assertion of the identity provider (ID-JAG). It goes with login PER_PERSON.',
      {
        ...client,
        clientSecret: secretName
          .nullish()
          .describe('The name of the secret that holds the client secret; not together with privateKey.'),
        privateKey: secretName
          .nullish()
          .describe(
            'The name of the secret that holds the private key of the client as PEM, in place of a client secret. It also ' +
              'signs the actor token, which names the agents through which the person acts.',
          ),
        algorithm: optional(algorithm.describe(authMeanings.algorithm), 'ES256'),
        audience: text(2048, 1).nullish().describe(authMeanings.audience),
      },
    ).describe('Token exchange: the sign-in of the person.'),
  },
).transform((given): UpstreamAuth => {
  const { clientCredentials: secret, privateKeyJwt: key, authorizationCode: code, tokenExchange } = given
  // Stored only where it is set: a configuration that was saved before it existed stays the same.
  const omitResource = (secret ?? key ?? code ?? tokenExchange)!.omitResource || undefined
  if (tokenExchange) {
    const { clientId: id, issuer: by, privateKey = null, clientSecret = null } = tokenExchange
    return {
      kind: 'token_exchange',
      clientId: id,
      clientSecret,
      privateKey,
      algorithm: privateKey === null ? null : (tokenExchange.algorithm ?? 'ES256'),
      issuer: by,
      scopes: tokenExchange.scopes ?? [],
      audience: tokenExchange.audience ?? null,
      omitResource,
    }
  }
  if (secret) return { kind: 'client_credentials', ...secret, scopes: secret.scopes ?? [], omitResource }
  if (key) return { kind: 'private_key_jwt', ...key, scopes: key.scopes ?? [], omitResource }
  return {
    kind: 'authorization_code',
    clientId: code!.clientId ?? null,
    clientSecret: code!.clientSecret ?? null,
    issuer: code!.issuer ?? null,
    scopes: code!.scopes ?? [],
    allowedScopes: code!.allowedScopes ?? [],
    omitResource,
  }
})

/** Takes a stored grant back to how it is given. */
export function authInputOf(auth: UpstreamAuth | null): z.input<typeof authInput> | null {
  if (!auth) return null
  const { kind, ...given } = auth
  const forms = {
    client_credentials: 'clientCredentials',
    private_key_jwt: 'privateKeyJwt',
    authorization_code: 'authorizationCode',
    token_exchange: 'tokenExchange',
  } as const
  return { [forms[kind]]: given }
}

/** Every fault of a grant, with its path. `hasIdentity`: whether an identity provider is configured, whose sign-ins are exchanged. */
export function authFaults(auth: UpstreamAuth | null, hasIdentity: boolean): Issue[] {
  if (auth?.kind === 'token_exchange') return exchangeFaults(auth, hasIdentity)
  if (auth?.kind !== 'authorization_code') return []
  // A token without a resource may be good for more than this server: the server itself must not choose who issues it.
  if (auth.omitResource && auth.issuer === null)
    return [{ path: ['auth', 'issuer'], message: 'is required when omitResource is set' }]
  const needed = auth.clientId === null ? 'clientId' : auth.issuer === null ? 'issuer' : null
  return needed === null || !auth.clientSecret
    ? []
    : [{ path: ['auth', needed], message: 'is required when there is a client secret' }]
}

function exchangeFaults(
  { clientSecret, privateKey, omitResource, audience }: TokenExchange,
  hasIdentity: boolean,
): Issue[] {
  const fault = (path: string, message: string): Issue[] => [{ path: ['auth', path], message }]
  return [
    ...(hasIdentity
      ? []
      : fault(
          'issuer',
          'needs an identity provider whose sign-ins are exchanged: set GATEHOUSE_OIDC_ISSUER',
        )),
    ...((clientSecret === null) === (privateKey === null)
      ? fault('clientSecret', 'give exactly one of clientSecret and privateKey')
      : []),
    // The token of a person that is good for no server in particular could be used at any.
    ...(omitResource && audience === null ? fault('audience', 'is required when omitResource is set') : []),
  ]
}

function isWebAddress(value: string): boolean {
  if (!URL.canParse(value)) return false
  const { protocol, hostname, username, search, hash } = new URL(value)
  if (username || search || hash) return false
  return (
    protocol === 'https:' || (protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname))
  )
}

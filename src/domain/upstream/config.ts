/** How an upstream is reached: the stored configuration, and its validation. Pure. */
import { z } from 'zod'
import { text } from '../../core/check.ts'
import { invalid, type Issue } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { choice, oneOf, optional, part, scalar } from '../../core/shapes.ts'
import { isConnectionHeader, type Egress } from '../egress/index.ts'
import { secretNames } from '../secrets/index.ts'

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

export type UpstreamAuth = ClientCredentials | PrivateKeyJwt | AuthorizationCode

export interface UpstreamConfig {
  /** `connector:NAME`, or may contain `{{secret:NAME}}` after the host and port. */
  url: string
  /** Values may contain `{{secret:NAME}}`. */
  headers: Record<string, string>
  /** Null: no credentials are configured; a person may log in when the server requires it. */
  auth: UpstreamAuth | null
  /** Whose login calls run with. Absent: one that everybody shares. */
  login?: 'PER_PERSON'
}

export const loginChoice = choice('UpstreamLogin', 'Whose login the calls of an upstream server run with.', {
  SHARED: 'All calls run with one login, or with the credentials of the configuration.',
  PER_PERSON:
    'Each call runs with the login of the person for whom it is made. Without one the call waits until that person has ' +
    'logged in.',
})

/** Used when `auth` is null: Gatehouse registers itself and requests the scopes that the server names. */
export const openAuth: AuthorizationCode = {
  kind: 'authorization_code',
  clientId: null,
  clientSecret: null,
  issuer: null,
  scopes: [],
  allowedScopes: [],
}

/** The name of a connector. */
export const connectorName = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const connectorScheme = 'connector:'

/** The URL of the server behind a connector. */
export function connectorUrl(name: string): string {
  return `${connectorScheme}${name}`
}

/** The name of the connector that the URL names; null for any other URL. */
export function connectorIn(url: string): string | null {
  return url.startsWith(connectorScheme) ? url.slice(connectorScheme.length) : null
}

const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'] as const

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
  algorithm: 'The JWS algorithm of the signature: RS256, PS256, ES256 or one of their longer forms.',
}

export const authKind = choice(
  'UpstreamAuthKind',
  'The OAuth grant with which Gatehouse gets tokens for a protected MCP server.',
  {
    client_credentials: 'Client credentials (RFC 6749, 4.4): a client id and a secret.',
    private_key_jwt: 'Client credentials with a signed assertion (RFC 7523, 2.2) in place of a secret.',
    authorization_code: 'Authorization code with PKCE: a person logs in with a browser, see connectUpstream.',
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
        algorithm: scalar('String', z.enum(algorithms, `must be one of ${algorithms.join(', ')}`)).describe(
          authMeanings.algorithm,
        ),
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
  },
).transform(({ clientCredentials: secret, privateKeyJwt: key, authorizationCode: code }): UpstreamAuth => {
  // Stored only where it is set: a configuration that was saved before it existed stays the same.
  const omitResource = (secret ?? key ?? code)!.omitResource || undefined
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
  } as const
  return { [forms[kind]]: given }
}

/** The fields of a connection as they are given. */
export const connectionFields = {
  url: text(2048, 1).describe(
    'The absolute URL of the server, or connector:NAME for one that gatehouse connect offers. {{secret:NAME}} after the ' +
      'host is replaced by the secret when a request is sent.',
  ),
  headers: scalar(
    'JSONObject',
    z
      .custom<JsonObject>()
      .pipe(
        z
          .record(z.string(), text(4096))
          .refine((headers) => Object.keys(headers).length <= 50, 'must have at most 50 headers'),
      ),
  )
    .nullish()
    .describe(
      'Static headers by name. {{secret:NAME}} in a value is replaced by the secret when a request is sent.',
    ),
  auth: optional(
    authInput.describe('How Gatehouse authenticates to the server (OAuth).'),
    'no authentication',
  ),
}
export const connection = z.object(connectionFields)

/** What is kept of a connection. */
export const upstreamConfigOf = ({ url, headers, auth }: z.output<typeof connection>): UpstreamConfig => ({
  url,
  headers: headers ?? {},
  auth: auth ?? null,
})

/** The configuration that a checked input describes. Throws INVALID with every fault. */
export function checkUpstreamConfig(
  services: { egress: Pick<Egress, 'checkUrl'> },
  input: z.output<typeof connection>,
): UpstreamConfig {
  const config = upstreamConfigOf(input)
  const faults = upstreamFaults(services.egress, config)
  if (faults.length > 0) throw invalid(faults.map((fault) => ({ ...fault, path: ['input', ...fault.path] })))
  return config
}

/**
 * Every fault of a configuration, with its path under `url`, `headers` and `auth`. Does not check whether the named secrets
 * exist: `secretsOf` lists them.
 */
export function upstreamFaults(egress: Pick<Egress, 'checkUrl'>, config: UpstreamConfig): Issue[] {
  const connector = connectorIn(config.url)
  if (connector !== null) return connectorFaults(config, connector)
  return [
    ...urlFaults(egress, config.url),
    ...headerFaults(config),
    ...authFaults(config.auth),
    ...loginFaults(config),
  ]
}

/** The names of all secrets in the configuration. */
export function secretsOf({ url, headers, auth }: UpstreamConfig): string[] {
  const own =
    auth?.kind === 'private_key_jwt' ? [auth.privateKey] : auth?.clientSecret ? [auth.clientSecret] : []
  return [...new Set([...[url, ...Object.values(headers)].flatMap(secretNames), ...own])]
}

/** A connector has the credentials of its server, and an API key for ours: there is nothing to send. */
function connectorFaults({ headers, auth, login }: UpstreamConfig, name: string): Issue[] {
  const fault = (path: string, message: string): Issue[] => [{ path: [path], message }]
  return [
    ...(connectorName.test(name)
      ? []
      : fault(
          'url',
          'must be connector:NAME, with a name of at most 63 lower-case letters, digits and hyphens',
        )),
    ...(Object.keys(headers).length > 0
      ? fault('headers', 'must be empty: a connector gets no headers')
      : []),
    ...(auth ? fault('auth', 'must be left out: the connector itself has the credentials') : []),
    ...(login ? fault('login', 'must be SHARED: the connector itself has the credentials') : []),
  ]
}

function urlFaults(egress: Pick<Egress, 'checkUrl'>, url: string): Issue[] {
  const fault = (message: string): Issue[] => [{ path: ['url'], message }]
  const [one, other] = ['x', 'y'].map((letter) => withoutSecrets(url, letter)) as [string, string]
  if (/[{}\s\\]/.test(one)) return fault('must not hold white space, braces or a backslash')
  if (!URL.canParse(one) || !URL.canParse(other)) return fault('is not a valid URL')
  if (new URL(one).origin !== new URL(other).origin)
    return fault('may contain a secret only after its host and port')
  if (new URL(one).hash !== '') return fault('must not have a fragment')
  const refusal = egress.checkUrl(one)
  return refusal ? fault(refusal) : []
}

/** Replaces each secret of the template with this letter. */
export function withoutSecrets(template: string, letter: string): string {
  return secretNames(template).reduce((made, name) => made.replaceAll(`{{secret:${name}}}`, letter), template)
}

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** Set by the protocol or by Gatehouse; another value would contradict the message. */
const reserved = /^(mcp-.*|idempotency-key|content-type|accept|last-event-id)$/i

function headerFaults({ headers, auth }: UpstreamConfig): Issue[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    const fault = (message: string): Issue[] => [{ path: ['headers', name], message }]
    if (!headerName.test(name)) return fault('is not the name of a header')
    if (isConnectionHeader(name) || reserved.test(name)) return fault('is set by the protocol itself')
    if (/[^\t\x20-\x7e]/.test(value)) return fault('must hold visible ASCII only')
    if (auth && name.toLowerCase() === 'authorization')
      return fault('conflicts with "auth": set only one of them')
    return []
  })
}

function authFaults(auth: UpstreamAuth | null): Issue[] {
  if (auth?.kind !== 'authorization_code') return []
  // A token without a resource may be good for more than this server: the server itself must not choose who issues it.
  if (auth.omitResource && auth.issuer === null)
    return [{ path: ['auth', 'issuer'], message: 'is required when omitResource is set' }]
  const needed = auth.clientId === null ? 'clientId' : auth.issuer === null ? 'issuer' : null
  return needed === null || !auth.clientSecret
    ? []
    : [{ path: ['auth', needed], message: 'is required when there is a client secret' }]
}

/** What is sent for everybody would be sent beside, or in place of, the login of a person. */
function loginFaults({ headers, auth, login }: UpstreamConfig): Issue[] {
  if (!login) return []
  const fault = (message: string): Issue[] => [{ path: ['login'], message }]
  if (auth && auth.kind !== 'authorization_code')
    return fault('PER_PERSON needs the grant authorizationCode, or no auth: other grants have no person')
  return Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
    ? fault('PER_PERSON conflicts with the header Authorization, which is the same for everybody')
    : []
}

function isWebAddress(value: string): boolean {
  if (!URL.canParse(value)) return false
  const { protocol, hostname, username, search, hash } = new URL(value)
  if (username || search || hash) return false
  return (
    protocol === 'https:' || (protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname))
  )
}

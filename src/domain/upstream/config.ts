/** How an upstream is reached: the stored configuration, and its validation. Pure. */
import { z } from 'zod'
import { text } from '../../core/check.ts'
import { invalid, type Issue } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { choice, optional, scalar } from '../../core/shapes.ts'
import { isConnectionHeader, type Egress } from '../egress/index.ts'
import { secretNames } from '../secrets/index.ts'
import { authFaults, authInput, secretOfAuth, type UpstreamAuth } from './auth-config.ts'

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
    'Each call runs with the login of the person for whom it is made, or, with tokenExchange, with a token for which the ' +
    'sign-in of that person is exchanged. Without one the call waits until that person has logged in.',
})

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

/** What a configuration is checked with: where it may lead, and whether there is an identity provider. */
interface FaultServices {
  egress: Pick<Egress, 'checkUrl'>
  identity: object | null
}

/** The configuration that a checked input describes. Throws INVALID with every fault. */
export function checkUpstreamConfig(
  services: FaultServices,
  input: z.output<typeof connection>,
): UpstreamConfig {
  const config = upstreamConfigOf(input)
  const faults = upstreamFaults(services, config)
  if (faults.length > 0) throw invalid(faults.map((fault) => ({ ...fault, path: ['input', ...fault.path] })))
  return config
}

/**
 * Every fault of a configuration, with its path under `url`, `headers` and `auth`. Does not check whether the named secrets
 * exist: `secretsOf` lists them.
 */
export function upstreamFaults({ egress, identity }: FaultServices, config: UpstreamConfig): Issue[] {
  const connector = connectorIn(config.url)
  if (connector !== null) return connectorFaults(config, connector)
  return [
    ...urlFaults(egress, config.url),
    ...headerFaults(config),
    ...authFaults(config.auth, identity !== null),
    ...loginFaults(config),
  ]
}

/** The names of all secrets in the configuration. */
export function secretsOf({ url, headers, auth }: UpstreamConfig): string[] {
  const own = auth && secretOfAuth(auth)
  return [
    ...new Set([...[url, ...Object.values(headers)].flatMap(secretNames), ...(own === null ? [] : [own])]),
  ]
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

/** What is sent for everybody would be sent beside, or in place of, the login of a person. */
function loginFaults({ headers, auth, login }: UpstreamConfig): Issue[] {
  const fault = (message: string): Issue[] => [{ path: ['login'], message }]
  const exchanges = auth?.kind === 'token_exchange'
  if (!login)
    return exchanges
      ? fault('must be PER_PERSON with tokenExchange, which acts for the person of a call; a test has none')
      : []
  if (auth && auth.kind !== 'authorization_code' && !exchanges)
    return fault(
      'PER_PERSON needs the grant authorizationCode or tokenExchange, or no auth: other grants have no person',
    )
  return Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
    ? fault('PER_PERSON conflicts with the header Authorization, which is the same for everybody')
    : []
}

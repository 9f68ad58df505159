/** How Gatehouse authenticates to a protected MCP server (OAuth 2.1), as object and input types. */
import type { UpstreamAuth } from '../../../domain/upstream/index.ts'
import { described } from '../builder/described.ts'
import type { Refs } from '../builder/refs.ts'

const authKinds = ['client_credentials', 'private_key_jwt', 'authorization_code'] as const

/** Adds the object type and the input type, and returns both. */
export function addUpstreamAuth(refs: Refs) {
  const { builder } = refs
  const Kind = builder.enumType('UpstreamAuthKind', {
    description: 'The OAuth grant with which Gatehouse gets tokens for a protected MCP server.',
    values: Object.fromEntries(
      Object.entries(
        described(authKinds, {
          client_credentials: 'Client credentials (RFC 6749, 4.4): a client id and a secret.',
          private_key_jwt: 'Client credentials with a signed assertion (RFC 7523, 2.2) in place of a secret.',
          authorization_code:
            'Authorization code with PKCE: a person logs in with a browser, see connectUpstream.',
        }),
      ).map(([kind, value]) => [kind.toUpperCase(), { ...(value as object), value: kind }]),
    ) as Record<string, { value: (typeof authKinds)[number] }>,
  })
  const meanings = {
    clientId: 'The OAuth client id of Gatehouse at the authorization server.',
    issuer: 'The issuer URL of the only authorization server that receives these credentials.',
    scopes: 'The OAuth scopes to request. Empty: the scopes that the server asks for.',
    allowedScopes: 'The OAuth scopes that may be requested later, when a call needs more.',
    omitResource:
      'Whether token requests leave out `resource` (RFC 8707), for authorization servers that refuse it, such as Microsoft Entra ID.',
    algorithm: 'The JWS algorithm of the signature: RS256, PS256, ES256 or one of their longer forms.',
  }
  const Object_ = builder.objectRef<UpstreamAuth>('UpstreamAuth').implement({
    description:
      'How Gatehouse authenticates to a protected MCP server. Secrets are given by name, never by value.',
    fields: (t) => ({
      kind: t.field({
        type: Kind,
        description: 'The OAuth grant that is used.',
        resolve: ({ kind }) => kind,
      }),
      clientId: t.exposeString('clientId', { nullable: true, description: meanings.clientId }),
      issuer: t.exposeString('issuer', { nullable: true, description: meanings.issuer }),
      scopes: t.exposeStringList('scopes', { description: meanings.scopes }),
      secretName: t.string({
        nullable: true,
        description: 'The name of the secret that holds the client secret or private key.',
        resolve: (auth) => (auth.kind === 'private_key_jwt' ? auth.privateKey : auth.clientSecret),
      }),
      algorithm: t.string({
        nullable: true,
        description: meanings.algorithm,
        resolve: (auth) => (auth.kind === 'private_key_jwt' ? auth.algorithm : null),
      }),
      omitResource: t.boolean({
        description: meanings.omitResource,
        resolve: (auth) => auth.omitResource ?? false,
      }),
      allowedScopes: t.stringList({
        description: meanings.allowedScopes,
        resolve: (auth) => (auth.kind === 'authorization_code' ? auth.allowedScopes : []),
      }),
    }),
  })
  return { Object: Object_, Input: addAuthInput(refs, meanings) }
}

function addAuthInput({ builder }: Refs, meanings: Record<string, string>) {
  const Credentials = builder.inputType('ClientCredentialsInput', {
    description: 'The OAuth client credentials grant with a client id and a secret (RFC 6749, 4.4).',
    fields: (t) => ({
      clientId: t.string({ required: true, description: meanings['clientId']! }),
      clientSecret: t.string({
        required: true,
        description: 'The name of the secret that holds the client secret.',
      }),
      issuer: t.string({ required: true, description: meanings['issuer']! }),
      scopes: t.stringList({ description: meanings['scopes']! }),
      omitResource: t.boolean({ description: meanings['omitResource']! }),
    }),
  })
  const Key = builder.inputType('PrivateKeyJwtInput', {
    description: 'The OAuth client credentials grant with a signed assertion (RFC 7523, 2.2).',
    fields: (t) => ({
      clientId: t.string({ required: true, description: meanings['clientId']! }),
      privateKey: t.string({
        required: true,
        description: 'The name of the secret that holds the private key as PEM.',
      }),
      algorithm: t.string({ required: true, description: meanings['algorithm']! }),
      issuer: t.string({ required: true, description: meanings['issuer']! }),
      scopes: t.stringList({ description: meanings['scopes']! }),
      omitResource: t.boolean({ description: meanings['omitResource']! }),
    }),
  })
  const Code = builder.inputType('AuthorizationCodeInput', {
    description: 'The OAuth authorization code grant with PKCE: a person logs in with a browser.',
    fields: (t) => ({
      clientId: t.string({
        description: 'The client id of a registered client. Default: Gatehouse registers itself as a client.',
      }),
      clientSecret: t.string({
        description:
          'The name of the secret that holds the client secret of a registered, confidential client.',
      }),
      issuer: t.string({ description: meanings['issuer']! }),
      scopes: t.stringList({ description: meanings['scopes']! }),
      allowedScopes: t.stringList({ description: meanings['allowedScopes']! }),
      omitResource: t.boolean({ description: meanings['omitResource']! }),
    }),
  })
  return builder.inputType('UpstreamAuthInput', {
    description: 'How Gatehouse authenticates to a protected MCP server: exactly one of the grants.',
    isOneOf: true,
    fields: (t) => ({
      clientCredentials: t.field({ type: Credentials, description: 'Client credentials with a secret.' }),
      privateKeyJwt: t.field({ type: Key, description: 'Client credentials with a signed assertion.' }),
      authorizationCode: t.field({ type: Code, description: 'Authorization code: a person logs in.' }),
    }),
  })
}

/**
 * Converts the `@oneOf` input to the domain's object with a `kind`. GraphQL has checked that exactly one member is set.
 */
export function authOf(given: ReturnType<typeof addAuthInput>['$inferInput']): object {
  const { clientCredentials, privateKeyJwt, authorizationCode } = given
  if (clientCredentials) return { kind: 'client_credentials', ...withoutNulls(clientCredentials) }
  if (privateKeyJwt) return { kind: 'private_key_jwt', ...withoutNulls(privateKeyJwt) }
  return { kind: 'authorization_code', ...withoutNulls(authorizationCode!) }
}

function withoutNulls(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}

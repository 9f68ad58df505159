/** How we prove who we are at a protected MCP server, on the wire. */
import type { UpstreamAuth } from '../../domain/upstream/index.ts'
import { described } from './described.ts'
import type { Refs } from './refs.ts'

const authKinds = ['client_credentials', 'private_key_jwt', 'authorization_code'] as const

/** Adds both directions of it. */
export function addUpstreamAuth(refs: Refs) {
  const { builder } = refs
  const Kind = builder.enumType('UpstreamAuthKind', {
    description: 'How we get in at a protected MCP server.',
    values: Object.fromEntries(
      Object.entries(
        described(authKinds, {
          client_credentials: 'Our program has an account: a client id and a secret.',
          private_key_jwt: 'The same, proved by a signature.',
          authorization_code: 'A person logs in with a browser; see connectUpstream.',
        }),
      ).map(([kind, value]) => [kind.toUpperCase(), { ...(value as object), value: kind }]),
    ) as Record<string, { value: (typeof authKinds)[number] }>,
  })
  const words = {
    clientId: 'What the authorization server knows us as.',
    issuer: 'The only authorization server that gets to see our proof.',
    scopes: 'What is asked for; what the server says that it needs when empty.',
    allowedScopes: 'What may be asked for later, when a call needs more.',
    algorithm: 'The signature: RS256, PS256, ES256 or their longer forms.',
  }
  const Object_ = builder.objectRef<UpstreamAuth>('UpstreamAuth').implement({
    description: 'How we prove who we are. Secrets stand here by name.',
    fields: (t) => ({
      kind: t.field({ type: Kind, description: 'Which way.', resolve: ({ kind }) => kind }),
      clientId: t.exposeString('clientId', { nullable: true, description: words.clientId }),
      issuer: t.exposeString('issuer', { nullable: true, description: words.issuer }),
      scopes: t.exposeStringList('scopes', { description: words.scopes }),
      secretName: t.string({
        nullable: true,
        description: 'The secret that holds our secret or key.',
        resolve: (auth) => (auth.kind === 'private_key_jwt' ? auth.privateKey : auth.clientSecret),
      }),
      algorithm: t.string({
        nullable: true,
        description: words.algorithm,
        resolve: (auth) => (auth.kind === 'private_key_jwt' ? auth.algorithm : null),
      }),
      allowedScopes: t.stringList({
        description: words.allowedScopes,
        resolve: (auth) => (auth.kind === 'authorization_code' ? auth.allowedScopes : []),
      }),
    }),
  })
  return { Object: Object_, Input: addAuthInput(refs, words) }
}

function addAuthInput({ builder }: Refs, words: Record<string, string>) {
  const Credentials = builder.inputType('ClientCredentialsInput', {
    description: 'A client id and a secret (RFC 6749, 4.4).',
    fields: (t) => ({
      clientId: t.string({ required: true, description: words['clientId']! }),
      clientSecret: t.string({ required: true, description: 'The name of a secret.' }),
      issuer: t.string({ required: true, description: words['issuer']! }),
      scopes: t.stringList({ description: words['scopes']! }),
    }),
  })
  const Key = builder.inputType('PrivateKeyJwtInput', {
    description: 'A client id and a key (RFC 7523, 2.2).',
    fields: (t) => ({
      clientId: t.string({ required: true, description: words['clientId']! }),
      privateKey: t.string({ required: true, description: 'The name of a secret that holds it as PEM.' }),
      algorithm: t.string({ required: true, description: words['algorithm']! }),
      issuer: t.string({ required: true, description: words['issuer']! }),
      scopes: t.stringList({ description: words['scopes']! }),
    }),
  })
  const Code = builder.inputType('AuthorizationCodeInput', {
    description: 'A person logs in (authorization code with PKCE).',
    fields: (t) => ({
      clientId: t.string({ description: 'When we are registered; else we introduce ourselves.' }),
      clientSecret: t.string({ description: 'The name of a secret, for a registered, confidential client.' }),
      issuer: t.string({ description: words['issuer']! }),
      scopes: t.stringList({ description: words['scopes']! }),
      allowedScopes: t.stringList({ description: words['allowedScopes']! }),
    }),
  })
  return builder.inputType('UpstreamAuthInput', {
    description: 'Exactly one way to prove who we are.',
    isOneOf: true,
    fields: (t) => ({
      clientCredentials: t.field({ type: Credentials, description: 'With a secret.' }),
      privateKeyJwt: t.field({ type: Key, description: 'With a signature.' }),
      authorizationCode: t.field({ type: Code, description: 'By a person.' }),
    }),
  })
}

/** How an MCP server is authorized to, as one of the kinds of the domain. */
export function authOf(given: ReturnType<typeof addAuthInput>['$inferInput']): object {
  const { clientCredentials, privateKeyJwt, authorizationCode } = given
  if (clientCredentials) return { kind: 'client_credentials', ...withoutNulls(clientCredentials) }
  if (privateKeyJwt) return { kind: 'private_key_jwt', ...withoutNulls(privateKeyJwt) }
  return { kind: 'authorization_code', ...withoutNulls(authorizationCode!) }
}

function withoutNulls(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}

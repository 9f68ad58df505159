/** How Gatehouse authenticates to a protected MCP server (OAuth 2.1), as object and input types. */
import { authKind, authMeanings, type UpstreamAuth } from '../../../domain/upstream/index.ts'
import type { Refs } from '../builder/refs.ts'

/** Adds the object type, and returns it. */
export function addUpstreamAuth(refs: Refs) {
  const { builder } = refs
  const Kind = refs.shapes.choice(authKind)
  const meanings = authMeanings
  return builder.objectRef<UpstreamAuth>('UpstreamAuth').implement({
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
}

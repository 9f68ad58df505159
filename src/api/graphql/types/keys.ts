/** API keys in GraphQL, and principals: the one that did something, beside each id of one. */
import * as access from '../../../domain/access/index.ts'
import { connectionOf } from '../builder/connections.ts'
import { addList } from '../builder/queries.ts'
import type { Refs } from '../builder/refs.ts'

/** Implements Principal. */
function addPrincipals(refs: Refs): void {
  refs.shapes.implement(refs.Principal, access.principalShape, undefined, {
    interfaces: [refs.builder.nodeInterfaceRef()],
    isTypeOf: (value) =>
      typeof value === 'object' &&
      value !== null &&
      'kind' in value &&
      access.principalKindChoice.safeParse(value.kind).success,
  })
}

export function addKeys(refs: Refs): void {
  const { shapes } = refs
  addPrincipals(refs)
  shapes.node(refs.ApiKey, 'apiKey', access.apiKeyShape, (t) => ({
    revocation: t.field({
      type: shapes.object(access.keyRevocation),
      description: 'What revokeApiKey would end now.',
      complexity: 20,
      resolve: (key, _args, { ctx }) => access.revocationOf(ctx, key),
    }),
    lastUsedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'When the API key, or a session of it, was last used, to within about a minute; null: never.',
      resolve: ({ id }, _args, { loaders }) => loaders.keyUses.load(id),
    }),
  }))
  const connection = connectionOf(refs.ApiKey, 'ApiKey')
  addList(refs, {
    name: 'apiKeys',
    type: connection,
    description: 'The API keys of a project, newest first. Permission: keys:List.',
    list: access.listApiKeys,
  })
}

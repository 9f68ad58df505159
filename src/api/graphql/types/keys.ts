/** API keys and roles in GraphQL. */
import type { Revocation } from '../../../domain/access/index.ts'
import type { Refs } from '../builder/refs.ts'
import * as access from '../../../domain/access/index.ts'
import { connectionOf, hasPrefix } from '../builder/connections.ts'
import { addList } from '../builder/queries.ts'

/** What the revocation of an API key would end, in GraphQL. */
function addKeyRevocation({ builder }: Refs) {
  return builder.objectRef<Revocation>('KeyRevocation').implement({
    description: 'What would end with an API key.',
    fields: (t) => ({
      madeKeys: t.exposeInt('madeKeys', {
        description: 'The number of API keys that end with it, because they were created with it.',
      }),
      includesCaller: t.exposeBoolean('includesCaller', {
        description: 'Whether the API key of the caller ends: the key itself, or one created with it.',
      }),
      leavesNoAdmin: t.exposeBoolean('leavesNoAdmin', {
        description:
          'Whether the last API keys with the role ADMIN, or of an operator, are among those that end.',
      }),
    }),
  })
}

export type RoleEnum = ReturnType<typeof addRole>

export const addRole = ({ shapes }: Refs) => shapes.choice(access.role)

export function addKeys(refs: Refs, Role: RoleEnum): void {
  const { builder } = refs
  const KeyRevocation = addKeyRevocation(refs)
  refs.ApiKey.implement({
    description: 'An API key. Its secret was shown once; only a hash is stored.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'key_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the API key; it begins with key_.' }),
      name: t.exposeString('name', { description: 'The display name of the API key.' }),
      prefix: t.exposeString('prefix', {
        description: 'The first characters of the secret, to distinguish API keys.',
      }),
      role: t.field({
        type: Role,
        nullable: true,
        description: 'The role of the API key; null for a key with its own policy.',
        resolve: (key) => key.role,
      }),
      policy: t.field({
        type: 'JSONObject',
        description:
          'The permissions of the API key as {statement: [{effect, action, resource}]}. An explicit Deny wins.',
        resolve: (key) => key.policy,
      }),
      agent: t.field({
        type: refs.Agent,
        nullable: true,
        description:
          'The agent whose MCP bridge is all that this API key can use; null for a key of the whole project.',
        resolve: (key, _args, { loaders }) => (key.agentId ? loaders.agents.load(key.agentId) : null),
      }),
      project: t.field({
        type: refs.Project,
        nullable: true,
        description: 'The project of the API key; null when it is hidden from the caller.',
        resolve: (key, _args, { loaders }) => loaders.projects.load(key.projectId),
      }),
      votes: t.exposeBoolean('votes', {
        description:
          'Whether the API key may decide approvals and gate changes; false for a key of a program.',
      }),
      invitedUntil: t.expose('invitedUntil', {
        type: 'DateTime',
        nullable: true,
        description:
          'When the invitation to this API key ends; null once it is accepted, and for an API key that was created ' +
          'with its secret.',
      }),
      revocation: t.field({
        type: KeyRevocation,
        description: 'What revokeApiKey would end now.',
        complexity: 20,
        resolve: (key, _args, { ctx }) => access.revocationOf(ctx, key),
      }),
      createdBy: t.exposeID('createdBy', {
        nullable: true,
        description:
          'The id of the API key or person that created this key, which ends with it; null for the first key ' +
          'of the installation.',
      }),
      lastUsedAt: t.field({
        type: 'DateTime',
        nullable: true,
        description:
          'When the API key, or a session of it, was last used, to within about a minute; null: never.',
        resolve: ({ id }, _args, { loaders }) => loaders.keyUses.load(id),
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the API key was created.' }),
      expiresAt: t.expose('expiresAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the API key expires; null: never.',
      }),
      revokedAt: t.expose('revokedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the API key was revoked; null when it was not.',
      }),
    }),
  })
  const connection = connectionOf(refs.ApiKey, 'ApiKey')
  addList(refs, {
    name: 'apiKeys',
    type: connection,
    description: 'The API keys of a project, newest first. Permission: keys:List.',
    list: access.listApiKeys,
  })
}

/** API keys and roles in GraphQL. */
import {
  createApiKey,
  listApiKeys,
  revocationOf,
  revokeApiKey,
  role,
  type ApiKey as Key,
} from '../../../domain/access/index.ts'
import { connectionOf, hasPrefix, listCost, page } from '../builder/connections.ts'
import { addMutation } from '../builder/mutation.ts'
import { addKeyRevocation } from './key-revocation.ts'
import type { Refs } from '../builder/refs.ts'

export type RoleEnum = ReturnType<typeof addRole>

export const addRole = ({ shapes }: Refs) => shapes.choice(role)

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
        resolve: (key, _args, { ctx }) => revocationOf(ctx, key),
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
  builder.queryField('apiKeys', (t) =>
    t.field({
      type: connection,
      description: 'The API keys of a project, newest first. Permission: keys:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, ...args }, { ctx }) =>
        page(args, (p) => listApiKeys(ctx, { projectId, page: p })),
    }),
  )
  addMutation(refs, {
    name: 'createApiKey',
    description:
      'Creates an API key with a role or a policy, and with no more permissions or lifetime than the API key ' +
      'that creates it. Permission: keys:Create.',
    input: builder.inputType('CreateApiKeyInput', {
      description: 'The API key to create: give exactly one of role and policy.',
      fields: (t) => ({
        projectId: t.id({ description: 'The id of the project. Default: the project of the API key.' }),
        name: t.string({
          required: true,
          description: 'The display name of the API key, 1 to 100 characters.',
        }),
        role: t.field({
          type: Role,
          description: 'A built-in set of permissions; not together with policy.',
        }),
        policy: t.field({
          type: 'JSONObject',
          description:
            'The permissions as {statement: [{effect, action: ["tools:Call"], resource: ["*"]}]}; not ' +
            'together with role.',
        }),
        expiresAt: t.field({
          type: 'DateTime',
          description: 'When the API key expires. Default: with the API key that creates it, or never.',
        }),
        votes: t.boolean({
          description:
            'Whether the API key may decide approvals and gate changes; false marks the key of a program. ' +
            'Default: true.',
        }),
        agentId: t.id({
          description:
            'The id of an agent; it begins with agt_. The API key can then use the MCP bridge of this agent and ' +
            'nothing else. Default: the whole project.',
        }),
      }),
    }),
    payload: builder.objectRef<{ apiKey: Key; secret: string }>('CreateApiKeyPayload').implement({
      description: 'The new API key and its secret, which is shown only here.',
      fields: (t) => ({
        apiKey: t.expose('apiKey', { type: refs.ApiKey, description: 'The API key that was created.' }),
        secret: t.exposeString('secret', {
          description: 'The secret, sent as "Authorization: Bearer …". It cannot be read again.',
        }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError', 'LimitReachedError'],
    run: (ctx, input) => createApiKey(ctx, input),
  })
  addMutation(refs, {
    name: 'revokeApiKey',
    description:
      'Revokes an API key and every key created with it: requests fail at once and sockets are closed. ' +
      'Idempotent. Permission: keys:Revoke.',
    input: builder.inputType('RevokeApiKeyInput', {
      description: 'The API key to revoke.',
      fields: (t) => ({
        id: t.id({ required: true, description: 'The id of the API key; it begins with key_.' }),
        keepMade: t.boolean({
          description:
            'Whether API keys created with this key stay valid. Default: false, they are revoked too.',
        }),
      }),
    }),
    payload: builder.objectRef<{ apiKey: Key }>('RevokeApiKeyPayload').implement({
      description: 'The API key that was revoked.',
      fields: (t) => ({
        apiKey: t.expose('apiKey', { type: refs.ApiKey, description: 'The API key that was revoked.' }),
      }),
    }),
    errors: ['NotFoundError'],
    run: async (ctx, input) => ({ apiKey: await revokeApiKey(ctx, input) }),
  })
}

/** API keys on the wire. */
import {
  createApiKey,
  listApiKeys,
  revokeApiKey,
  roles,
  type ApiKey as Key,
} from '../../domain/access/index.ts'
import { connectionOf, hasPrefix, listCost, page } from './connections.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'

export type RoleEnum = ReturnType<typeof addRole>

export function addRole({ builder }: Refs) {
  return builder.enumType('Role', {
    description: 'Built-in bundles of permissions.',
    values: Object.fromEntries(
      roles.map((role) => [role.toUpperCase(), { value: role, description: roleDescriptions[role] }]),
    ) as Record<string, { value: (typeof roles)[number]; description: string }>,
  })
}

export function addKeys(refs: Refs, Role: RoleEnum): void {
  const { builder } = refs
  refs.ApiKey.implement({
    description: 'An API key. Its secret was shown once and is stored nowhere.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'key_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'Begins with key_.' }),
      name: t.exposeString('name', { description: 'For people.' }),
      prefix: t.exposeString('prefix', {
        description: 'The first characters of the secret, to tell keys apart.',
      }),
      role: t.field({
        type: Role,
        nullable: true,
        description: 'The role it was made with; null for a policy of its own.',
        resolve: (key) => key.role,
      }),
      policy: t.field({
        type: 'JSONObject',
        description: 'What it may do: {statement: [{effect, action, resource}]}. An explicit Deny wins.',
        resolve: (key) => key.policy,
      }),
      agent: t.field({
        type: refs.Agent,
        nullable: true,
        description:
          'The one agent whose MCP bridge it opens, and nothing else; null for all of the project.',
        resolve: (key, _args, { loaders }) => (key.agentId ? loaders.agents.load(key.agentId) : null),
      }),
      project: t.field({
        type: refs.Project,
        nullable: true,
        description: 'The project it belongs to; null when you may not see it.',
        resolve: (key, _args, { loaders }) => loaders.projects.load(key.projectId),
      }),
      votes: t.exposeBoolean('votes', {
        description: 'False for a program: it never decides about approvals or changes of gates.',
      }),
      createdBy: t.exposeID('createdBy', {
        nullable: true,
        description:
          'The key or person that made it; it ends with that key. Null for the first of the installation.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
      expiresAt: t.expose('expiresAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When it ends by itself.',
      }),
      revokedAt: t.expose('revokedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When it was revoked.',
      }),
    }),
  })
  const connection = connectionOf(refs.ApiKey, 'ApiKey')
  builder.queryField('apiKeys', (t) =>
    t.field({
      type: connection,
      description: 'The API keys of a project, newest first.',
      args: {
        projectId: t.arg.id({ description: "The project; the key's own when left out." }),
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
      'Makes an API key. Give exactly one of role and policy; never more rights, or a longer life, than your own key has.',
    input: builder.inputType('CreateApiKeyInput', {
      description: 'A new API key.',
      fields: (t) => ({
        projectId: t.id({ description: "The project; the key's own when left out." }),
        name: t.string({ required: true, description: 'For people, 1 to 100 characters.' }),
        role: t.field({ type: Role, description: 'A built-in bundle of permissions.' }),
        policy: t.field({
          type: 'JSONObject',
          description: '{statement: [{effect, action: ["tools:Call"], resource: ["*"]}]}',
        }),
        expiresAt: t.field({
          type: 'DateTime',
          description: 'When the key ends by itself; when left out with the key that makes it, or never.',
        }),
        votes: t.boolean({
          description:
            'False marks it as a program, which never decides about approvals or changes of gates; true when left out.',
        }),
        agentId: t.id({
          description: 'Begins with agt_. The key then opens the MCP bridge of this agent and nothing else.',
        }),
      }),
    }),
    payload: builder.objectRef<{ apiKey: Key; secret: string }>('CreateApiKeyPayload').implement({
      description: 'The new key and, this once, its secret.',
      fields: (t) => ({
        apiKey: t.expose('apiKey', { type: refs.ApiKey, description: 'The new key.' }),
        secret: t.exposeString('secret', {
          description: 'Send it as "Authorization: Bearer …". It cannot be read again.',
        }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError', 'LimitReachedError'],
    run: (ctx, input) => createApiKey(ctx, input),
  })
  addMutation(refs, {
    name: 'revokeApiKey',
    description:
      'Revokes a key, and every key that was made with it: their requests fail from now on and their sockets are closed. Idempotent.',
    input: builder.inputType('RevokeApiKeyInput', {
      description: 'The key to revoke.',
      fields: (t) => ({
        id: t.id({ required: true, description: 'Begins with key_.' }),
        keepMade: t.boolean({
          description: 'True lets the keys live on that were made with it; they end with it when left out.',
        }),
      }),
    }),
    payload: builder.objectRef<{ apiKey: Key }>('RevokeApiKeyPayload').implement({
      description: 'The revoked key.',
      fields: (t) => ({ apiKey: t.expose('apiKey', { type: refs.ApiKey, description: 'The revoked key.' }) }),
    }),
    errors: ['NotFoundError'],
    run: async (ctx, input) => ({ apiKey: await revokeApiKey(ctx, input) }),
  })
}

const roleDescriptions: Record<(typeof roles)[number], string> = {
  admin: 'Everything in the project.',
  developer: 'Tools, agents, providers, secrets and generations; no keys, no verdicts.',
  approver: 'Reads everything, decides approvals, revokes grants and resolves calls of unknown outcome.',
  caller: 'Calls tools and runs agents.',
  viewer: 'Reads everything and follows events.',
}

/** Secrets in GraphQL: values are write-only. */
import * as secrets from '../../../domain/secrets/index.ts'
import { type SecretUse, secretUserKinds } from '../../../domain/statistics/index.ts'
import { connectionOf } from '../builder/connections.ts'
import { described } from '../builder/described.ts'
import type { Refs } from '../builder/refs.ts'
import { addList } from '../builder/queries.ts'

export function addSecrets(refs: Refs): void {
  const { builder } = refs
  const Kind = builder.enumType('SecretUserKind', {
    description: 'The kind of an object that refers to a secret.',
    values: described(secretUserKinds, {
      TOOL: 'An http tool sends the secret.',
      UPSTREAM: 'The server behind an mcp tool is sent the secret.',
      PROVIDER: 'A model provider has the secret as its API key.',
    }),
  })
  const Use = builder.objectRef<SecretUse>('SecretUse').implement({
    description: 'An object that refers to a secret, and fails without it.',
    fields: (t) => ({
      kind: t.expose('kind', { type: Kind, description: 'The kind of the object.' }),
      id: t.exposeID('id', {
        description: 'The id of the tool or model provider; for an upstream server, of its mcp tool.',
      }),
      name: t.exposeString('name', { description: 'The name of the tool or model provider.' }),
    }),
  })
  refs.Secret.implement({
    description: 'A secret of a project. Its value is write-only.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the secret; it begins with sec_.' }),
      name: t.exposeString('name', { description: 'The name, used as {{secret:NAME}} in URLs and headers.' }),
      allowedHosts: t.exposeStringList('allowedHosts', {
        nullable: true,
        description: 'The hosts that the secret may be sent to; null: any host.',
      }),
      usedBy: t.field({
        type: [Use],
        description:
          'The tools, upstream servers and model providers that refer to the secret, by name; only those that the ' +
          'caller may read. Permissions: tools:Get, providers:List.',
        resolve: (secret, _args, { loaders }) => loaders.secretUses.load(secret),
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the secret was first set.' }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the secret was last set.' }),
    }),
  })
  const connection = connectionOf(refs.Secret, 'Secret')
  addList(refs, {
    name: 'secrets',
    type: connection,
    description: 'The secrets of a project without their values, newest first. Permission: secrets:List.',
    list: secrets.listSecrets,
  })
}

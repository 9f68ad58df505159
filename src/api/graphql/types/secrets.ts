/** Secrets in GraphQL: values are write-only. */
import * as secrets from '../../../domain/secrets/index.ts'
import { secretUse } from '../../../domain/statistics/index.ts'
import { connectionOf } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { addList } from '../builder/queries.ts'

export function addSecrets(refs: Refs): void {
  refs.shapes.implement(refs.Secret, secrets.secretShape, (t) => ({
    usedBy: t.field({
      type: [refs.shapes.object(secretUse)],
      description:
        'The tools, upstream servers and model providers that refer to the secret, by name; only those that the ' +
        'caller may read. Permissions: tools:Get, providers:List.',
      resolve: (secret, _args, { loaders }) => loaders.secretUses.load(secret),
    }),
  }))
  const connection = connectionOf(refs.Secret, 'Secret')
  addList(refs, {
    name: 'secrets',
    type: connection,
    description: 'The secrets of a project without their values, newest first. Permission: secrets:List.',
    list: secrets.listSecrets,
  })
}

/** Secrets on the wire: in, never out. */
import { deleteSecret, listSecrets, setSecret, type Secret } from '../../domain/secrets/index.ts'
import { connectionOf, listCost, page } from './connections.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'

export function addSecrets(refs: Refs): void {
  const { builder } = refs
  refs.Secret.implement({
    description: 'A secret by name. Its value goes in and never comes out.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'Begins with sec_.' }),
      name: t.exposeString('name', { description: 'Used as {{secret:NAME}}.' }),
      allowedHosts: t.exposeStringList('allowedHosts', {
        nullable: true,
        description: 'The hosts that it may be sent to; null: any, for nobody has named one.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was first set.' }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last set.' }),
    }),
  })
  const connection = connectionOf(refs.Secret, 'Secret')
  builder.queryField('secrets', (t) =>
    t.field({
      type: connection,
      description: 'The secrets of a project by name, newest first.',
      args: {
        projectId: t.arg.id({ description: "The project; the key's own when left out." }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, ...args }, { ctx }) =>
        page(args, (p) => listSecrets(ctx, { projectId, page: p })),
    }),
  )
  addMutation(refs, {
    name: 'setSecret',
    description: 'Sets a secret, new or again. The value is sealed and cannot be read back.',
    input: builder.inputType('SetSecretInput', {
      description: 'A secret and its value.',
      fields: (t) => ({
        projectId: t.id({ description: "The project; the key's own when left out." }),
        name: t.string({ required: true, description: 'Letters, digits and _; used as {{secret:NAME}}.' }),
        value: t.string({ required: true, description: 'At most 16,384 characters.' }),
        allowedHosts: t.stringList({
          description:
            'The hosts that it may be sent to, as api.example.com, api.example.com:8443 or *.example.com; at most 50. Left out: those of before, and for a new secret any. Null: any.',
        }),
      }),
    }),
    payload: builder.objectRef<{ secret: Secret }>('SetSecretPayload').implement({
      description: 'The secret, without its value.',
      fields: (t) => ({
        secret: t.expose('secret', { type: refs.Secret, description: 'The secret, without its value.' }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError', 'LimitReachedError'],
    run: async (ctx, input) => ({ secret: await setSecret(ctx, input) }),
  })
  addMutation(refs, {
    name: 'deleteSecret',
    description: 'Deletes a secret. Tools that name it fail from now on. Idempotent.',
    input: builder.inputType('DeleteSecretInput', {
      description: 'The secret to delete.',
      fields: (t) => ({
        projectId: t.id({ description: "The project; the key's own when left out." }),
        name: t.string({ required: true, description: "The secret's name." }),
      }),
    }),
    payload: builder.objectRef<{ deleted: boolean }>('DeleteSecretPayload').implement({
      description: 'What was done.',
      fields: (t) => ({ deleted: t.exposeBoolean('deleted', { description: 'Whether there was one.' }) }),
    }),
    errors: ['NotFoundError'],
    run: async (ctx, input) => ({ deleted: await deleteSecret(ctx, input) }),
  })
}

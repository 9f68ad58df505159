/** Model providers on the wire. */
import { deleteProvider, listProviders, setProvider, type Provider } from '../../domain/generations/index.ts'
import { connectionOf, listCost, page } from './connections.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'

export function addProviders(refs: Refs): void {
  const { builder } = refs
  const Kind = builder.enumType('ProviderKind', {
    description: 'The wire a provider speaks.',
    values: {
      OPENAI: { value: 'openai', description: 'OpenAI Responses.' },
      ANTHROPIC: { value: 'anthropic', description: 'Anthropic Messages.' },
      GOOGLE: { value: 'google', description: 'Gemini.' },
      COMPATIBLE: { value: 'compatible', description: 'Any server with the OpenAI chat completions wire.' },
    } as const,
  })
  refs.Provider.implement({
    description: 'Where models come from, for one project. Its key is a secret and only named.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'Begins with prov_.' }),
      name: t.exposeString('name', { description: 'The part before the slash in provider/model.' }),
      kind: t.field({ type: Kind, description: 'The wire it speaks.', resolve: (provider) => provider.kind }),
      baseUrl: t.exposeString('baseUrl', { nullable: true, description: "null: the vendor's own address." }),
      secretName: t.exposeString('secretName', {
        nullable: true,
        description: 'The secret that holds its key.',
      }),
      defaultModel: t.exposeString('defaultModel', {
        description: 'The model for people who only choose a provider.',
      }),
      contextWindow: t.exposeInt('contextWindow', {
        nullable: true,
        description: 'Tokens that fit; history is trimmed to it.',
      }),
      capabilities: t.expose('capabilities', {
        type: 'JSONObject',
        description: 'What differs from the usual of its kind.',
      }),
    }),
  })
  const connection = connectionOf(refs.Provider, 'Provider')
  builder.queryField('providers', (t) =>
    t.field({
      type: connection,
      description:
        'The model providers of a project, newest first; those of the environment are not among them.',
      args: {
        projectId: t.arg.id({ description: "The project; the key's own when left out." }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, ...args }, { ctx }) =>
        page(args, (p) => listProviders(ctx, { projectId, page: p })),
    }),
  )
  const Capabilities = builder.inputType('ModelCapabilitiesInput', {
    description: "What the provider's models can do, where it differs from the usual of their kind.",
    fields: (t) => ({
      images: t.boolean({ description: 'Take images.' }),
      files: t.boolean({ description: 'Take files.' }),
      parallelTools: t.boolean({ description: 'Call several tools at once.' }),
      structuredOutput: t.boolean({ description: 'Keep to a response schema by themselves.' }),
    }),
  })
  addMutation(refs, {
    name: 'setProvider',
    description: 'Sets a model provider of a project by name, new or again.',
    input: builder.inputType('SetProviderInput', {
      description: 'A model provider.',
      fields: (t) => ({
        projectId: t.id({ description: "The project; the key's own when left out." }),
        name: t.string({
          required: true,
          description: 'Letters, digits, - and _; wins over a provider of the environment.',
        }),
        kind: t.field({ type: Kind, required: true, description: 'The wire it speaks.' }),
        baseUrl: t.string({
          description: 'Required for COMPATIBLE. Must be an address that tools may reach too.',
        }),
        secretName: t.string({ description: 'The secret that holds its key.' }),
        defaultModel: t.string({
          required: true,
          description: 'The model for people who only choose a provider.',
        }),
        capabilities: t.field({ type: Capabilities, description: 'What its models can do.' }),
        contextWindow: t.int({ description: 'Tokens that fit, input and output; history is trimmed to it.' }),
      }),
    }),
    payload: builder.objectRef<{ provider: Provider }>('SetProviderPayload').implement({
      description: 'The provider as it stands now.',
      fields: (t) => ({
        provider: t.expose('provider', { type: refs.Provider, description: 'The provider.' }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError', 'LimitReachedError'],
    run: async (ctx, input) => ({ provider: await setProvider(ctx, input) }),
  })
  addMutation(refs, {
    name: 'deleteProvider',
    description: 'Deletes a model provider of a project. Idempotent.',
    input: builder.inputType('DeleteProviderInput', {
      description: 'The provider to delete.',
      fields: (t) => ({
        projectId: t.id({ description: "The project; the key's own when left out." }),
        name: t.string({ required: true, description: "The provider's name." }),
      }),
    }),
    payload: builder.objectRef<{ deleted: boolean }>('DeleteProviderPayload').implement({
      description: 'What was done.',
      fields: (t) => ({ deleted: t.exposeBoolean('deleted', { description: 'Whether there was one.' }) }),
    }),
    errors: ['NotFoundError'],
    run: async (ctx, input) => ({ deleted: await deleteProvider(ctx, input) }),
  })
}

/** Model providers in GraphQL. */
import { type Provider, deleteProvider, listProviders, setProvider } from '../../../domain/models/index.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'

export function addProviders(refs: Refs): void {
  const { builder } = refs
  const Kind = builder.enumType('ProviderKind', {
    description: 'The API that a model provider has.',
    values: {
      OPENAI: { value: 'openai', description: 'The provider has the OpenAI Responses API.' },
      ANTHROPIC: { value: 'anthropic', description: 'The provider has the Anthropic Messages API.' },
      GOOGLE: { value: 'google', description: 'The provider has the Google Gemini API.' },
      COMPATIBLE: {
        value: 'compatible',
        description: 'The provider is any server with an OpenAI compatible chat completions API.',
      },
    } as const,
  })
  refs.Provider.implement({
    description: 'A model provider of one project. Its API key is a secret, given by name.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the provider; it begins with prov_.' }),
      name: t.exposeString('name', {
        description: 'The name of the provider: the part before the slash in provider/model.',
      }),
      kind: t.field({
        type: Kind,
        description: 'The API that the provider has.',
        resolve: (provider) => provider.kind,
      }),
      baseUrl: t.exposeString('baseUrl', {
        nullable: true,
        description: "The base URL of the API; null: the vendor's own.",
      }),
      secretName: t.exposeString('secretName', {
        nullable: true,
        description: 'The name of the secret that holds the API key of the provider; null: no key.',
      }),
      defaultModel: t.exposeString('defaultModel', {
        description: 'The name of the model to preselect when a person chooses this provider.',
      }),
      contextWindow: t.exposeInt('contextWindow', {
        nullable: true,
        description:
          'The context window of the models in tokens, to which history is trimmed; null: the default of the kind.',
      }),
      capabilities: t.expose('capabilities', {
        type: 'JSONObject',
        description: 'The capabilities of the models where they differ from the default of the kind.',
      }),
    }),
  })
  const connection = connectionOf(refs.Provider, 'Provider')
  builder.queryField('providers', (t) =>
    t.field({
      type: connection,
      description:
        'The model providers of a project, newest first, without those configured by environment variables. ' +
        'Permission: providers:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, ...args }, { ctx }) =>
        page(args, (p) => listProviders(ctx, { projectId, page: p })),
    }),
  )
  const Capabilities = builder.inputType('ModelCapabilitiesInput', {
    description:
      'The capabilities of the models of a provider where they differ from the default of the kind.',
    fields: (t) => ({
      images: t.boolean({ description: 'Whether the models accept images.' }),
      files: t.boolean({ description: 'Whether the models accept files.' }),
      parallelTools: t.boolean({ description: 'Whether the models can call several tools in one response.' }),
      structuredOutput: t.boolean({
        description: 'Whether the models support structured output by a response schema.',
      }),
    }),
  })
  addMutation(refs, {
    name: 'setProvider',
    description: 'Creates or replaces a model provider of a project by name. Permission: providers:Set.',
    input: builder.inputType('SetProviderInput', {
      description: 'The model provider to create or replace.',
      fields: (t) => ({
        projectId: t.id({ description: 'The id of the project. Default: the project of the API key.' }),
        name: t.string({
          required: true,
          description:
            'The name of letters, digits, - and _. It has precedence over a provider of an environment variable.',
        }),
        kind: t.field({ type: Kind, required: true, description: 'The API that the provider has.' }),
        baseUrl: t.string({
          description:
            'The base URL of the API, which must be an allowed address as for tools; required for ' +
            "COMPATIBLE. Default: the vendor's own.",
        }),
        secretName: t.string({
          description: 'The name of the secret that holds the API key of the provider. Default: no key.',
        }),
        defaultModel: t.string({
          required: true,
          description: 'The name of the model to preselect when a person chooses this provider.',
        }),
        capabilities: t.field({
          type: Capabilities,
          description:
            'The capabilities of the models where they differ from the default of the kind. Default: none differ.',
        }),
        contextWindow: t.int({
          description:
            'The context window of the models in tokens, input and output together; history is trimmed to ' +
            'it. Default: the default of the kind.',
        }),
      }),
    }),
    payload: builder.objectRef<{ provider: Provider }>('SetProviderPayload').implement({
      description: 'The provider after the mutation.',
      fields: (t) => ({
        provider: t.expose('provider', {
          type: refs.Provider,
          description: 'The provider after the mutation.',
        }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError', 'LimitReachedError'],
    run: async (ctx, input) => ({ provider: await setProvider(ctx, input) }),
  })
  addMutation(refs, {
    name: 'deleteProvider',
    description: 'Deletes a model provider of a project. Idempotent. Permission: providers:Delete.',
    input: builder.inputType('DeleteProviderInput', {
      description: 'The provider to delete.',
      fields: (t) => ({
        projectId: t.id({ description: 'The id of the project. Default: the project of the API key.' }),
        name: t.string({ required: true, description: 'The name of the provider.' }),
      }),
    }),
    payload: builder.objectRef<{ deleted: boolean }>('DeleteProviderPayload').implement({
      description: 'The result of the deletion.',
      fields: (t) => ({
        deleted: t.exposeBoolean('deleted', { description: 'Whether the provider existed.' }),
      }),
    }),
    errors: ['NotFoundError'],
    run: async (ctx, input) => ({ deleted: await deleteProvider(ctx, input) }),
  })
}

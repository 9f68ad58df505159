/** In GraphQL: every model provider that agents of a project can name, and a test of one. */
import {
  listUsableProviders,
  mostProviders,
  providerSources,
  testProvider,
  type ProviderTrial,
  type UsableProvider,
} from '../../../domain/generations/index.ts'
import { described } from '../builder/described.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'

export function addUsableProviders(refs: Refs): void {
  addQuery(refs)
  addTest(refs)
}

function addQuery({ builder }: Refs): void {
  const Source = builder.enumType('ProviderSource', {
    description: 'Where a model provider is configured.',
    values: described(providerSources, {
      PROJECT: 'The project has configured the provider with setProvider.',
      ENVIRONMENT: 'The operator has configured the provider for the whole installation.',
      BUILTIN: 'The provider is part of the server and is not an AI: it follows rules.',
    }),
  })
  const Usable = builder.objectRef<UsableProvider>('ModelProvider').implement({
    description: 'A model provider that agents of a project can name, without its address and key.',
    fields: (t) => ({
      name: t.exposeString('name', {
        description: 'The name of the provider: the part before the slash in provider/model.',
      }),
      kind: t.string({
        description: 'The API that the provider has: OPENAI, ANTHROPIC, GOOGLE, COMPATIBLE or BUILTIN.',
        resolve: ({ kind }) => kind.toUpperCase(),
      }),
      source: t.expose('source', { type: Source, description: 'Where the provider is configured.' }),
      defaultModel: t.exposeString('defaultModel', {
        nullable: true,
        description:
          'The name of the model to preselect when a person chooses this provider; null when none is configured.',
      }),
    }),
  })
  builder.queryField('modelProviders', (t) =>
    t.field({
      type: [Usable],
      description:
        'All model providers that agents of a project can name, by name, those configured by environment variables ' +
        `included; at most ${mostProviders}. Permission: providers:List.`,
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
      },
      resolve: (_root, { projectId }, { ctx, models }) => listUsableProviders(ctx, models, { projectId }),
    }),
  )
}

function addTest(refs: Refs): void {
  const { builder } = refs
  const Fault = builder.objectRef<NonNullable<ProviderTrial['error']>>('ProviderFault').implement({
    description: 'The reason for which a model did not answer.',
    fields: (t) => ({
      code: t.exposeString('code', {
        description:
          'The stable code of the failure for programs, a GenerationFailureCode such as MODEL_AUTH.',
      }),
      message: t.exposeString('message', {
        description: 'An explanation of the failure for people, without keys and addresses.',
      }),
    }),
  })
  addMutation(refs, {
    name: 'testProvider',
    description:
      'Asks a model of a provider for a few tokens, once, within 20 seconds. A test counts as 10 requests of the ' +
      'caller. Permission: providers:Test.',
    input: builder.inputType('TestProviderInput', {
      description: 'The model provider to test.',
      fields: (t) => ({
        projectId: t.id({ description: 'The id of the project. Default: the project of the API key.' }),
        name: t.string({ required: true, description: 'The name of the provider, as in modelProviders.' }),
        model: t.string({
          description: 'The name of the model. Default: the default model of the provider, if there is one.',
        }),
      }),
    }),
    payload: builder.objectRef<ProviderTrial>('TestProviderPayload').implement({
      description: 'The result of a test. A provider that refuses or is silent is a result, not an error.',
      fields: (t) => ({
        model: t.exposeString('model', { description: 'The model that was asked, as provider/model.' }),
        ok: t.exposeBoolean('ok', { description: 'Whether the model has answered.' }),
        milliseconds: t.exposeInt('milliseconds', {
          description:
            'The time from the request until the end of the answer or the failure, in milliseconds.',
        }),
        error: t.expose('error', {
          type: Fault,
          nullable: true,
          description: 'The reason for which the model did not answer; null when it has answered.',
        }),
      }),
    }),
    errors: ['NotFoundError', 'LimitReachedError'],
    run: (ctx, input, { models }) => testProvider(ctx, models, input),
  })
}

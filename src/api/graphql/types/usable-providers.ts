/** In GraphQL: every model provider that agents of a project can name. */
import {
  listUsableProviders,
  mostProviders,
  providerSources,
  type UsableProvider,
} from '../../../domain/generations/index.ts'
import { described } from '../builder/described.ts'
import type { Refs } from '../builder/refs.ts'

export function addUsableProviders({ builder }: Refs): void {
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

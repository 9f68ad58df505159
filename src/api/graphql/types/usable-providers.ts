/** In GraphQL: every model provider that agents of a project can name. */
import {
  listUsableProviders,
  mostProviders,
  type UsableProvider,
  usableProvider,
} from '../../../domain/generations/index.ts'
import type { Refs } from '../builder/refs.ts'

export function addUsableProviders({ builder, shapes }: Refs): void {
  const Usable = shapes.implement(
    builder.objectRef<UsableProvider>('ModelProvider'),
    usableProvider,
    (t) => ({
      kind: t.string({
        description: 'The API that the provider has: OPENAI, ANTHROPIC, GOOGLE, COMPATIBLE or BUILTIN.',
        resolve: ({ kind }) => kind.toUpperCase(),
      }),
    }),
  )
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

/** Model providers in GraphQL: those of a project, and all that its agents can name. */
import { listProviders, providerShape } from '../../../domain/models/index.ts'
import { connectionOf } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { addList } from '../builder/queries.ts'
import {
  listUsableProviders,
  mostProviders,
  type UsableProvider,
  usableProvider,
} from '../../../domain/generations/index.ts'

/** Adds those of a project. */
export function addProviders(refs: Refs): void {
  refs.shapes.implement(refs.Provider, providerShape)
  const connection = connectionOf(refs.Provider, 'Provider')
  addList(refs, {
    name: 'providers',
    type: connection,
    description:
      'The model providers of a project, newest first, without those configured by environment variables. ' +
      'Permission: providers:List.',
    list: listProviders,
  })
}

/** Adds all that can be named. */
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

/** Model providers in GraphQL. */
import { listProviders, providerKind } from '../../../domain/models/index.ts'
import { connectionOf } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { addList } from '../builder/queries.ts'

export function addProviders(refs: Refs): void {
  refs.Provider.implement({
    description: 'A model provider of one project. Its API key is a secret, given by name.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the provider; it begins with prov_.' }),
      name: t.exposeString('name', {
        description: 'The name of the provider: the part before the slash in provider/model.',
      }),
      kind: t.field({
        type: refs.shapes.choice(providerKind),
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
  addList(refs, {
    name: 'providers',
    type: connection,
    description:
      'The model providers of a project, newest first, without those configured by environment variables. ' +
      'Permission: providers:List.',
    list: listProviders,
  })
}

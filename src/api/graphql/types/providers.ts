/** Model providers in GraphQL. */
import { listProviders, providerShape } from '../../../domain/models/index.ts'
import { connectionOf } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { addList } from '../builder/queries.ts'

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

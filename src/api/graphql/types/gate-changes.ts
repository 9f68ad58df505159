/** Proposed gate changes in GraphQL, which another person confirms or rejects. */
import { optional } from '../../../core/shapes.ts'
import { z } from 'zod'
import { listGateChanges, gateChange } from '../../../domain/gate-changes/index.ts'
import { connectionOf } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { addById, addList } from '../builder/queries.ts'

export function addGateChanges(refs: Refs): void {
  refs.shapes.node(refs.GateChange, 'gateChange', gateChange)
  addQueries(refs)
}

function addQueries(refs: Refs): void {
  const connection = connectionOf(refs.GateChange, 'GateChange')
  addById(refs, {
    name: 'gateChange',
    type: refs.GateChange,
    kind: 'gateChange',
    words: 'A proposed gate change',
    permission: 'gates:Get',
    load: ({ gateChanges }, id) => gateChanges.load(id),
  })
  addList(refs, {
    name: 'gateChanges',
    type: connection,
    description: 'The proposed gate changes of a project, newest first. Permission: gates:List.',
    args: {
      pending: optional(z.boolean().describe('Whether only pending changes are returned.'), 'false'),
    },
    list: listGateChanges,
  })
}

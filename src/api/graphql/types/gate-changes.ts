/** Proposed gate changes in GraphQL, which another person confirms or rejects. */
import { optional } from '../../../core/shapes.ts'
import { z } from 'zod'
import { gateChangeStatuses, listGateChanges } from '../../../domain/gate-changes/index.ts'
import { connectionOf, hasPrefix } from '../builder/connections.ts'
import { described } from '../builder/described.ts'
import type { Refs } from '../builder/refs.ts'
import { addById, addList } from '../builder/queries.ts'

export function addGateChanges(refs: Refs): void {
  addType(refs)
  addQueries(refs)
}

function addType(refs: Refs): void {
  const { builder } = refs
  const Status = builder.enumType('GateChangeStatus', {
    description: 'The status of a proposed gate change. All but PENDING are final.',
    values: described(gateChangeStatuses, {
      PENDING: 'The change waits for another person to confirm it.',
      CONFIRMED: 'Another person confirmed the change, and it was applied.',
      REJECTED: 'The change was rejected, or withdrawn by its proposer.',
      EXPIRED: 'No person decided about the change in time.',
    }),
  })
  refs.GateChange.implement({
    description: 'A proposed gate change that another person must confirm.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'gch_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the proposed gate change; it begins with gch_.' }),
      targetId: t.exposeID('target', {
        description:
          'The id of the tool or agent whose gate would change, or of the project whose gatesNeedSecond would end.',
      }),
      targetVersion: t.exposeInt('targetVersion', {
        description:
          'The version of the tool or agent that the change is for; another version makes it invalid. 0 for a project.',
      }),
      change: t.field({
        type: 'JSONObject',
        description:
          'The values to set: gate (null removes it), actionGates and agentsOnly. Members that are absent do ' +
          'not change.',
        resolve: ({ change }) => change,
      }),
      note: t.exposeString('note', {
        nullable: true,
        description: 'The reason that the proposer gave; null when none was given.',
      }),
      status: t.expose('status', { type: Status, description: 'The status of the proposed change.' }),
      proposedBy: t.exposeID('proposedBy', {
        description: 'The id of the API key or person that proposed the change.',
      }),
      decidedBy: t.exposeID('decidedBy', {
        nullable: true,
        description:
          'The id of the API key or person that confirmed or rejected the change; null while it is pending.',
      }),
      decidedAt: t.expose('decidedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the change was confirmed or rejected; null while it is pending.',
      }),
      expiresAt: t.expose('expiresAt', {
        type: 'DateTime',
        description: 'When the change expires without a decision.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the change was proposed.' }),
    }),
  })
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

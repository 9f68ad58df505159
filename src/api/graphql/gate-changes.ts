/** Changes of gates that wait for a second person, on the wire. */
import {
  decideGateChange,
  gateChangeStatuses,
  listGateChanges,
  proposeGateChange,
  type GateChange,
  type ProposeGateChangeInput,
} from '../../domain/gates/index.ts'
import { connectionOf, hasPrefix, listCost, page } from './connections.ts'
import { described } from './described.ts'
import type { GateTypes } from './gates.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'

/** `ActionGate` is the input that names an action and its gate. */
export function addGateChanges(refs: Refs, gates: GateTypes): void {
  addType(refs)
  addQueries(refs)
  addMutations(refs, gates)
}

function addType(refs: Refs): void {
  const { builder } = refs
  const Status = builder.enumType('GateChangeStatus', {
    description: 'What became of a proposed change of a gate. All but PENDING are final.',
    values: described(gateChangeStatuses, {
      PENDING: 'It waits for another person.',
      CONFIRMED: 'Another person confirmed it, and it was set.',
      REJECTED: 'It was rejected or taken back.',
      EXPIRED: 'Nobody decided in time.',
    }),
  })
  refs.GateChange.implement({
    description: 'A change of a gate that another person has to confirm.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'gch_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'Begins with gch_.' }),
      targetId: t.exposeID('target', {
        description:
          'The tool or agent whose gate is to change, or the project whose rule about gates is to go.',
      }),
      targetVersion: t.exposeInt('targetVersion', {
        description: 'The version that it is proposed for; 0 for a project. Another one ends it.',
      }),
      change: t.field({
        type: 'JSONObject',
        description: 'What is to be set: gate (null takes it away), actionGates, agentsOnly. The rest stays.',
        resolve: ({ change }) => change,
      }),
      note: t.exposeString('note', { nullable: true, description: 'Why, in the words of who proposed it.' }),
      status: t.expose('status', { type: Status, description: 'What became of it.' }),
      proposedBy: t.exposeID('proposedBy', { description: 'The key or person that proposed it.' }),
      decidedBy: t.exposeID('decidedBy', {
        nullable: true,
        description: 'The key or person that confirmed or rejected it.',
      }),
      decidedAt: t.expose('decidedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When that was.',
      }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When it ends undecided.' }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was proposed.' }),
    }),
  })
}

function addQueries(refs: Refs): void {
  const { builder } = refs
  const connection = connectionOf(refs.GateChange, 'GateChange')
  builder.queryField('gateChange', (t) =>
    t.field({
      type: refs.GateChange,
      nullable: true,
      description: 'A proposed change of a gate by id; null when it does not exist for this key.',
      args: { id: t.arg.id({ required: true, description: 'Begins with gch_.' }) },
      resolve: (_root, { id }, { loaders }) => loaders.gateChanges.load(id),
    }),
  )
  builder.queryField('gateChanges', (t) =>
    t.field({
      type: connection,
      description: 'The proposed changes of gates of a project, newest first.',
      args: {
        projectId: t.arg.id({ description: "The project; the key's own when left out." }),
        pending: t.arg.boolean({ description: 'True: only those that wait for another person.' }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, pending, ...args }, { ctx }) =>
        page(args, (p) => listGateChanges(ctx, { projectId, pending, page: p })),
    }),
  )
}

function addMutations(refs: Refs, gates: GateTypes): void {
  const { builder } = refs
  const payload = (name: string) =>
    builder.objectRef<{ gateChange: GateChange }>(name).implement({
      description: 'The change as it stands now.',
      fields: (t) => ({
        gateChange: t.expose('gateChange', { type: refs.GateChange, description: 'The change.' }),
      }),
    })
  const ActionGate = builder.inputType('ProposedActionGateInput', {
    description: 'The gate of one action of an mcp tool.',
    fields: (t) => ({
      action: t.string({ required: true, description: 'The name at the server.' }),
      gate: t.field({ type: gates.Input, required: true, description: 'When a human must agree.' }),
    }),
  })
  addMutation(refs, {
    name: 'proposeGateChange',
    description:
      'Proposes a change of a gate, which another person has to confirm within seven days. Nothing changes until then.',
    input: builder.inputType('ProposeGateChangeInput', {
      description: 'What is to be set. What is left out stays.',
      fields: (t) => ({
        targetId: t.id({
          required: true,
          description:
            'A tool or agent; or the project, to take back its rule that changes of gates need a second person.',
        }),
        gate: t.field({ type: gates.Input, description: 'The new gate.' }),
        removeGate: t.boolean({ description: 'True takes the gate away. Not together with gate.' }),
        actionGates: t.field({
          type: [ActionGate],
          description: 'Of an mcp tool: the gates of single actions, all of them anew.',
        }),
        agentsOnly: t.boolean({ description: 'Of a tool: whether it is called by agents only.' }),
        note: t.string({ description: 'Why. At most 2,000 characters.' }),
      }),
    }),
    payload: payload('ProposeGateChangePayload'),
    errors: ['NotFoundError', 'LimitReachedError'],
    run: async (ctx, input) => ({
      gateChange: await proposeGateChange(ctx, input as ProposeGateChangeInput),
    }),
  })
  const Verdict = builder.enumType('GateChangeVerdict', {
    description: 'What a person says of a proposed change of a gate.',
    values: {
      APPROVE: { description: 'It is set now. Only another person than the one who proposed it.' },
      REJECT: { description: 'It is not set, and cannot be any more.' },
    } as const,
  })
  addMutation(refs, {
    name: 'decideGateChange',
    description: 'Confirms or rejects a proposed change of a gate, once. What is confirmed is set at once.',
    input: builder.inputType('DecideGateChangeInput', {
      description: 'A verdict.',
      fields: (t) => ({
        id: t.id({ required: true, description: 'Begins with gch_.' }),
        verdict: t.field({ type: Verdict, required: true, description: 'The verdict.' }),
      }),
    }),
    payload: payload('DecideGateChangePayload'),
    errors: ['NotFoundError', 'ConflictError'],
    run: async (ctx, input) => ({ gateChange: await decideGateChange(ctx, input) }),
  })
}

/** Pauses in GraphQL: the emergency stop of a project, an agent or a tool. */
import { optional } from '../../../core/shapes.ts'
import { z } from 'zod'
import * as pauses from '../../../domain/pauses/index.ts'
import type { ToolCall } from '../../../domain/tool-calls/index.ts'
import { connectionOf, hasPrefix } from '../builder/connections.ts'
import type { Loaders } from '../builder/context.ts'
import type { Refs } from '../builder/refs.ts'
import { addList } from '../builder/queries.ts'

export function addPauses(refs: Refs): void {
  addType(refs)
  addFields(refs)
  addQueries(refs)
}

function addType(refs: Refs): void {
  const { builder } = refs
  refs.Pause.implement({
    description:
      'A pause of a project, an agent or a tool. While it holds, no model is called for it, and no tool call is sent or ' +
      'given to a client; what is under way is not touched, approvals can be decided, and deadlines wait.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'pse_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the pause; it begins with pse_.' }),
      kind: t.expose('kind', {
        type: refs.shapes.choice(pauses.pauseKind),
        description: 'What the pause stops.',
      }),
      targetId: t.exposeID('target', { description: 'The id of the project, agent or tool.' }),
      targetName: t.exposeString('targetName', {
        description: 'What the project, agent or tool was called when it was paused.',
      }),
      reason: t.exposeString('reason', {
        nullable: true,
        description: 'The reason that was given; null for none.',
      }),
      pausedBy: t.field({
        type: refs.Principal,
        description: 'The API key or person that paused it.',
        resolve: ({ pausedBy }, _args, { loaders }) => loaders.principals.load(pausedBy),
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the pause began.' }),
      endedAt: t.expose('endedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the pause ended; null while it holds.',
      }),
      endedBy: t.field({
        type: refs.Principal,
        nullable: true,
        description: 'The API key or person that ended it; null while it holds.',
        resolve: ({ endedBy }, _args, { loaders }) => (endedBy ? loaders.principals.load(endedBy) : null),
      }),
    }),
  })
}

const unsent: readonly ToolCall['status'][] = ['PROPOSED', 'APPROVED']

/** The pause that holds a call which has not been sent. */
async function pauseOfCall(call: ToolCall, loaders: Loaders): Promise<pauses.Pause | null> {
  if (call.settledAt || !unsent.includes(call.status)) return null
  const targets = [call.projectId, call.agentId, call.toolId].filter((id) => id !== null)
  const found = await Promise.all([
    ...targets.map((id) => loaders.openPauses.load(id)),
    ...(call.generationId ? [loaders.pausesOfRuns.load(call.generationId)] : []),
  ])
  return found.find((one) => one !== null) ?? null
}

function addFields(refs: Refs): void {
  const { builder } = refs
  builder.objectField(refs.ToolCall, 'pause', (t) =>
    t.field({
      type: refs.Pause,
      nullable: true,
      description: 'The pause that holds the call, which has not been sent and waits; null for none.',
      resolve: (call, _args, { loaders }) => pauseOfCall(call, loaders),
    }),
  )
  builder.objectField(refs.Generation, 'pause', (t) =>
    t.field({
      type: refs.Pause,
      nullable: true,
      description:
        'The pause that holds the generation or one of its calls, so that it waits as QUEUED, or beside what else it ' +
        'waits for; null for none, and when it is final.',
      resolve: async ({ id, finishedAt }, _args, { loaders }) => {
        if (finishedAt) return null
        const own = await loaders.pausesOfRuns.load(id)
        if (own) return own
        const calls = await loaders.openCallsOf.load(id)
        const held = await Promise.all(calls.map((call) => pauseOfCall(call, loaders)))
        return held.find((one) => one !== null) ?? null
      },
    }),
  )
}

function addQueries(refs: Refs): void {
  const connection = connectionOf(refs.Pause, 'Pause')
  addList(refs, {
    name: 'pauses',
    type: connection,
    description: 'The pauses of a project, newest first. Permission: projects:Get.',
    args: {
      active: optional(z.boolean().describe('Whether only pauses that hold now are returned.'), 'false'),
    },
    list: pauses.listPauses,
  })
}

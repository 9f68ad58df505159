/** Pauses in GraphQL: the emergency stop of a project, an agent or a tool. */
import { optional } from '../../../core/shapes.ts'
import { z } from 'zod'
import * as pauses from '../../../domain/pauses/index.ts'
import type { ToolCall } from '../../../domain/tool-calls/index.ts'
import { connectionOf } from '../builder/connections.ts'
import type { Loaders } from '../builder/context.ts'
import type { Refs } from '../builder/refs.ts'
import { addList } from '../builder/queries.ts'

export function addPauses(refs: Refs): void {
  refs.shapes.node(refs.Pause, 'pause', pauses.pauseShape)
  addFields(refs)
  addQueries(refs)
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

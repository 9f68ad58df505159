/** Pauses in GraphQL: the emergency stop of a project, an agent or a tool. */
import {
  listPauses,
  pause,
  pauseKinds,
  resume,
  type Pause,
  type PauseKind,
} from '../../../domain/pauses/index.ts'
import type { ToolCall } from '../../../domain/tool-calls/index.ts'
import type { EnumOf } from '../builder/builder.ts'
import { connectionOf, hasPrefix, listCost, page } from '../builder/connections.ts'
import type { Loaders } from '../builder/context.ts'
import { described } from '../builder/described.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'

export function addPauses(refs: Refs): void {
  const Kind = refs.builder.enumType('PauseKind', {
    description: 'What a pause stops.',
    values: described(pauseKinds, {
      PROJECT: 'Every model step and every tool call of the project.',
      AGENT: 'The model steps and tool calls of the generations of one agent, and of those below them.',
      TOOL: 'The calls of one tool.',
    }),
  })
  addType(refs, Kind)
  addFields(refs)
  addQueries(refs)
  addMutations(refs)
}

function addType(refs: Refs, Kind: EnumOf<PauseKind>): void {
  const { builder } = refs
  refs.Pause.implement({
    description:
      'A pause of a project, an agent or a tool. While it holds, no model is called for it, and no tool call is sent or ' +
      'given to a client; what is under way is not touched, approvals can be decided, and deadlines wait.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'pse_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the pause; it begins with pse_.' }),
      kind: t.field({ type: Kind, description: 'What the pause stops.', resolve: ({ kind }) => kind }),
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
async function pauseOfCall(call: ToolCall, loaders: Loaders): Promise<Pause | null> {
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
  const { builder } = refs
  const connection = connectionOf(refs.Pause, 'Pause')
  builder.queryField('pauses', (t) =>
    t.field({
      type: connection,
      description: 'The pauses of a project, newest first. Permission: projects:Get.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        active: t.arg.boolean({
          description: 'Whether only pauses that hold now are returned. Default: false.',
        }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, active, ...args }, { ctx }) =>
        page(args, (p) => listPauses(ctx, { projectId, active, page: p })),
    }),
  )
}

function addMutations(refs: Refs): void {
  const { builder } = refs
  const payload = (name: string) =>
    builder.objectRef<{ pause: Pause }>(name).implement({
      description: 'The pause after the mutation.',
      fields: (t) => ({
        pause: t.expose('pause', { type: refs.Pause, description: 'The pause after the mutation.' }),
      }),
    })
  addMutation(refs, {
    name: 'pause',
    description:
      'Stops a project, an agent or a tool: once this responds, after about two seconds, no model is called and no tool ' +
      'call is sent for it or given to a client, in any process, and what is new waits. What is under way is not touched; idempotent. ' +
      'Permission: projects:Pause.',
    input: builder.inputType('PauseInput', {
      description:
        'What to stop: an agent, a tool or a whole project, by name. An input that names none is refused.',
      fields: (t) => ({
        projectId: t.id({
          description:
            'The id of the project to stop; beside agentId or toolId, the project that these must be of.',
        }),
        agentId: t.id({ description: 'The id of the agent to stop; not together with toolId.' }),
        toolId: t.id({ description: 'The id of the tool to stop.' }),
        reason: t.string({
          description: 'Why, for those who see that it is paused; at most 2,000 characters.',
        }),
      }),
    }),
    payload: payload('PausePayload'),
    errors: ['ValidationError', 'NotFoundError'],
    run: async (ctx, input) => ({ pause: await pause(ctx, input) }),
  })
  addMutation(refs, {
    name: 'resume',
    description:
      'Ends a pause: what waited goes on exactly where it stopped, unless another pause holds it. Idempotent. ' +
      'Permission: projects:Pause.',
    input: builder.inputType('ResumeInput', {
      description: 'The pause to end.',
      fields: (t) => ({
        pauseId: t.id({ required: true, description: 'The id of the pause; it begins with pse_.' }),
      }),
    }),
    payload: payload('ResumePayload'),
    errors: ['NotFoundError'],
    run: async (ctx, input) => ({ pause: await resume(ctx, input) }),
  })
}

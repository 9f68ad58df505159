/** Agents in GraphQL: the queries, and the mutations that create, change and delete one. */
import {
  createAgent,
  deleteAgent,
  listAgents,
  updateAgent,
  type Agent,
} from '../../../domain/agents/index.ts'
import { actionMark, listOf, shown } from '../builder/action-mark.ts'
import { addAgentType, agentGate, agentIds } from './agent-objects.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'
import { nameDescription } from '../builder/filters.ts'
import type { GateTypes } from './gates.ts'
import { mcpDescription, type McpSettingTypes } from './mcp-settings.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'
import type { SettingInputs } from './settings.ts'

export function addAgents(refs: Refs, inputs: SettingInputs, gates: GateTypes, mcp: McpSettingTypes): void {
  const { builder } = refs
  addAgentType(refs, inputs, gates, mcp)
  const connection = connectionOf(refs.Agent, 'Agent')
  builder.queryField('agent', (t) =>
    t.field({
      ...actionMark(shown.agent),
      type: refs.Agent,
      nullable: true,
      description: 'An agent by id; null when it does not exist for this API key. Permission: agents:Get.',
      args: { id: t.arg.id({ required: true, description: 'The id of the agent; it begins with agt_.' }) },
      resolve: (_root, { id }, { loaders }) => loaders.agents.load(id),
    }),
  )
  builder.queryField('agents', (t) =>
    t.field({
      ...actionMark(listOf(shown.agent)),
      type: connection,
      description: 'The agents of a project, newest first. Permission: agents:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        name: t.arg.string({ description: nameDescription('agents') }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, name, ...args }, { ctx }) =>
        page(args, (p) => listAgents(ctx, { projectId, name, page: p })),
    }),
  )
  const payload = (name: string) =>
    builder.objectRef<{ agent: Agent }>(name).implement({
      description: 'The agent after the mutation; a deleted one as it was before.',
      fields: (t) => ({
        agent: t.expose('agent', { type: refs.Agent, description: 'The agent after the mutation.' }),
      }),
    })
  addMutation(refs, {
    name: 'createAgent',
    action: `{ agent ${shown.agent} }`,
    description:
      'Creates an agent: a model, instructions, tools and the settings of its loop. Permission: agents:Create.',
    input: builder.inputType('CreateAgentInput', {
      description: 'The agent to create.',
      fields: (t) => ({
        projectId: t.id({ description: 'The id of the project. Default: the project of the API key.' }),
        name: t.string({
          required: true,
          description: 'The name of the agent, unique in the project, 1 to 100 characters.',
        }),
        toolIds: t.idList({
          description:
            'The ids of the tools that the agent may call, at most 1,000. Their runtime names must differ. ' +
            'Default: none.',
        }),
        agentIds: t.idList({ description: agentIds }),
        ...inputs.settings(t, 'create'),
        gate: t.field({ type: gates.Input, description: agentGate }),
        mcp: t.field({ type: mcp.Input, description: mcpDescription }),
      }),
    }),
    payload: payload('CreateAgentPayload'),
    errors: ['ValidationError', 'NameTakenError', 'NotFoundError', 'LimitReachedError'],
    run: async (ctx, input) => ({ agent: await createAgent(ctx, input) }),
  })
  addMutation(refs, {
    name: 'updateAgent',
    action: `{ agent ${shown.agent} }`,
    loosening: [
      'gate',
      'toolIds',
      'agentIds',
      'activeToolIds',
      'stepRules',
      'toolChoice',
      'stopConditions',
      'mcp',
    ],
    description:
      'Changes the given fields of an agent and keeps the others; null restores a default. Permission: ' +
      'agents:Update, and gates:Update for gate.',
    input: builder.inputType('UpdateAgentInput', {
      description: 'The changes of an agent: fields that are left out keep their values.',
      fields: (t) => ({
        id: t.id({ required: true, description: 'The id of the agent; it begins with agt_.' }),
        expectedVersion: t.int({
          description:
            'The version to change: with another current version the mutation returns ConflictError. ' +
            'Default: any version.',
        }),
        name: t.string({
          description: 'The new name of the agent, unique in the project, 1 to 100 characters.',
        }),
        toolIds: t.idList({
          description:
            'The ids of the tools that the agent may call from then on, at most 1,000. Left out: unchanged; ' +
            'null: none.',
        }),
        agentIds: t.idList({ description: agentIds }),
        ...inputs.settings(t, 'update'),
        gate: t.field({ type: gates.Input, description: agentGate }),
        mcp: t.field({ type: mcp.Input, description: mcpDescription }),
      }),
    }),
    payload: payload('UpdateAgentPayload'),
    errors: ['ValidationError', 'NameTakenError', 'NotFoundError', 'ConflictError'],
    run: async (ctx, input) => ({ agent: await updateAgent(ctx, input) }),
  })
  addMutation(refs, {
    name: 'deleteAgent',
    action: `{ agent ${shown.agent} }`,
    description:
      'Deletes an agent; its generations are kept, and running ones go on. Permission: agents:Delete.',
    input: builder.inputType('DeleteAgentInput', {
      description: 'The agent to delete.',
      fields: (t) => ({
        id: t.id({ required: true, description: 'The id of the agent; it begins with agt_.' }),
      }),
    }),
    payload: payload('DeleteAgentPayload'),
    errors: ['NotFoundError'],
    run: async (ctx, input) => ({ agent: await deleteAgent(ctx, input) }),
  })
}

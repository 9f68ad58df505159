/** Agents on the wire. */
import {
  createAgent,
  deleteAgent,
  listAgents,
  mcpDefaults,
  updateAgent,
  type Agent,
  type AgentSettings,
  type StepRule,
  type ToolChoiceRule,
} from '../../domain/agents/index.ts'
import { actionMark, listOf, shown } from './action-mark.ts'
import { connectionOf, hasPrefix, listCost, page } from './connections.ts'
import type { GateTypes } from './gates.ts'
import { mcpDescription, type McpSettingTypes } from './mcp-settings.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'
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
      description: 'An agent by id; null when it does not exist for this key.',
      args: { id: t.arg.id({ required: true, description: 'Begins with agt_.' }) },
      resolve: (_root, { id }, { loaders }) => loaders.agents.load(id),
    }),
  )
  builder.queryField('agents', (t) =>
    t.field({
      ...actionMark(listOf(shown.agent)),
      type: connection,
      description: 'The agents of a project, newest first.',
      args: {
        projectId: t.arg.id({ description: "The project; the key's own when left out." }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, ...args }, { ctx }) =>
        page(args, (p) => listAgents(ctx, { projectId, page: p })),
    }),
  )
  const payload = (name: string) =>
    builder.objectRef<{ agent: Agent }>(name).implement({
      description: 'The agent as it stands now.',
      fields: (t) => ({ agent: t.expose('agent', { type: refs.Agent, description: 'The agent.' }) }),
    })
  addMutation(refs, {
    name: 'createAgent',
    action: `{ agent ${shown.agent} }`,
    description: 'Saves an agent: a model, instructions, tools and the rules of its loop.',
    input: builder.inputType('CreateAgentInput', {
      description: 'A new agent.',
      fields: (t) => ({
        projectId: t.id({ description: "The project; the key's own when left out." }),
        name: t.string({ required: true, description: 'Unique in the project, 1 to 100 characters.' }),
        toolIds: t.idList({ description: 'The tools it may use; their runtime names must differ.' }),
        agentIds: t.idList({ description: agentIds }),
        ...inputs.settings(t),
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
    description: 'Changes what is given and keeps the rest; null takes a value back to its default.',
    input: builder.inputType('UpdateAgentInput', {
      description: 'Changes of an agent.',
      fields: (t) => ({
        id: t.id({ required: true, description: 'Begins with agt_.' }),
        expectedVersion: t.int({
          description: 'Refuses with ConflictError when the agent has another version.',
        }),
        name: t.string({ description: 'A new name.' }),
        toolIds: t.idList({ description: 'The tools it may use from now on.' }),
        agentIds: t.idList({ description: agentIds }),
        ...inputs.settings(t),
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
    description: 'Deletes an agent. Its generations stay; those that run go on.',
    input: builder.inputType('DeleteAgentInput', {
      description: 'The agent to delete.',
      fields: (t) => ({ id: t.id({ required: true, description: 'Begins with agt_.' }) }),
    }),
    payload: payload('DeleteAgentPayload'),
    errors: ['NotFoundError'],
    run: async (ctx, input) => ({ agent: await deleteAgent(ctx, input) }),
  })
}

const agentGate =
  'Stops calls of all its tools, beside their own gates: it can only make them stricter. A run cannot override it.'

const agentIds =
  'Agents of the project that it may ask, at most 50, itself among them if it likes. The model sees each as a tool under its name; a call runs that agent and answers its final text.'

function addAgentType(
  refs: Refs,
  { Mode, Timeout }: SettingInputs,
  gates: GateTypes,
  mcp: McpSettingTypes,
): void {
  const { builder } = refs
  const ToolChoice = builder.objectRef<ToolChoiceRule>('ToolChoice').implement({
    description: 'A mode, or the runtime name of the tool that must be called.',
    fields: (t) => ({
      mode: t.field({
        type: Mode,
        nullable: true,
        description: 'The mode.',
        resolve: (c) => ('mode' in c ? c.mode : null),
      }),
      tool: t.string({
        nullable: true,
        description: 'The tool, by runtime name.',
        resolve: (c) => ('tool' in c ? c.tool : null),
      }),
    }),
  })
  const Rule = builder.objectRef<StepRule>('StepRule').implement({
    description: 'What holds in some steps.',
    fields: (t) => ({
      step: t.exposeInt('step', { nullable: true, description: 'One step, from 1.' }),
      fromStep: t.exposeInt('fromStep', { nullable: true, description: 'The first of several.' }),
      toStep: t.exposeInt('toStep', { nullable: true, description: 'The last of several.' }),
      toolChoice: t.expose('toolChoice', {
        type: ToolChoice,
        nullable: true,
        description: 'The tool choice there.',
      }),
      activeToolIds: t.exposeIDList('activeToolIds', {
        nullable: true,
        description: 'The tools there; [] means none.',
      }),
    }),
  })
  const Stop = builder.objectRef<AgentSettings['stopConditions'][number]>('StopCondition').implement({
    description: 'Ends the loop after a step.',
    fields: (t) => ({
      hasToolCall: t.exposeString('hasToolCall', {
        description: 'The tool of this runtime name was called with valid arguments.',
      }),
    }),
  })
  const Budget = builder.objectRef<AgentSettings['budget']>('Budget').implement({
    description: 'Limits of tokens, input and output together.',
    fields: (t) => ({
      tokensPerGeneration: t.exposeFloat('tokensPerGeneration', {
        nullable: true,
        description: 'For one generation with all runs under it.',
      }),
      tokensPerDay: t.exposeFloat('tokensPerDay', {
        nullable: true,
        description: "For all of the agent's generations within 24 hours.",
      }),
    }),
  })
  refs.Agent.implement({
    description: 'A model, instructions and tools.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'agt_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'Begins with agt_.' }),
      name: t.exposeString('name', { description: 'Unique in the project.' }),
      instructions: t.exposeString('instructions', { nullable: true, description: 'The system message.' }),
      model: t.exposeString('model', {
        nullable: true,
        description: "provider/model; null: the installation's default.",
      }),
      toolIds: t.exposeIDList('toolIds', { description: 'The tools it may use.' }),
      tools: t.field({
        type: [refs.Tool],
        nullable: { list: false, items: true },
        description: 'The same as tools; null for one that was deleted or may not be seen.',
        resolve: (agent, _args, { loaders }) =>
          Promise.all(agent.toolIds.map((id) => loaders.tools.load(id))),
      }),
      collidingNames: t.stringList({
        description:
          'Runtime names that more than one of its tools has now, since an upstream has changed; of two the first is called.',
        resolve: (agent, _args, { loaders }) => loaders.collidingNames.load(agent),
      }),
      agentIds: t.idList({ description: agentIds, resolve: (agent) => agent.agentIds ?? [] }),
      agents: t.field({
        type: [refs.Agent],
        nullable: { list: false, items: true },
        description: 'The same as agents; null for one that was deleted or may not be seen.',
        resolve: (agent, _args, { loaders }) =>
          Promise.all((agent.agentIds ?? []).map((id) => loaders.agents.load(id))),
      }),
      activeToolIds: t.exposeIDList('activeToolIds', {
        nullable: true,
        description: 'Of toolIds and agentIds. null: all; []: none.',
      }),
      stepRules: t.expose('stepRules', {
        type: [Rule],
        description: 'The first rule that fits a step wins.',
      }),
      toolChoice: t.expose('toolChoice', {
        type: ToolChoice,
        description: 'A forced tool is forced once, in the first step.',
      }),
      stopConditions: t.expose('stopConditions', { type: [Stop], description: 'Any of them ends the loop.' }),
      maxSteps: t.exposeInt('maxSteps', {
        description: 'Model steps of a generation, pauses and restarts included.',
      }),
      finalAnswerOnLimit: t.exposeBoolean('finalAnswerOnLimit', {
        description: 'One last answer without tools when maxSteps is reached.',
      }),
      outputSchema: t.expose('outputSchema', {
        type: 'JSONSchema',
        nullable: true,
        description: 'What output.object must fit.',
      }),
      temperature: t.exposeFloat('temperature', {
        nullable: true,
        description: "null: the provider's default.",
      }),
      maxOutputTokens: t.exposeInt('maxOutputTokens', { nullable: true, description: 'For one answer.' }),
      parallelToolCalls: t.exposeBoolean('parallelToolCalls', {
        description: 'false: calls run one by one, in order.',
      }),
      maxContextMessages: t.exposeInt('maxContextMessages', {
        nullable: true,
        description: 'Messages of history that the model sees, rounded to whole turns.',
      }),
      budget: t.expose('budget', { type: Budget, description: 'Limits of tokens.' }),
      gate: t.field({
        type: gates.Policy,
        nullable: true,
        description: agentGate,
        resolve: ({ gate }) => (gate ? { ...gate, source: 'OPERATOR' as const } : null),
      }),
      mcp: t.field({
        type: mcp.Type,
        description: mcpDescription,
        resolve: (agent) => agent.mcp ?? mcpDefaults,
      }),
      clientTimeoutMs: t.exposeFloat('clientTimeoutMs', {
        description: "How long a client tool's output is waited for, in milliseconds.",
      }),
      onClientTimeout: t.expose('onClientTimeout', {
        type: Timeout,
        description: 'What follows when it does not come.',
      }),
      timeoutMs: t.exposeFloat('timeoutMs', {
        description: "The whole generation's time, waiting included, in milliseconds.",
      }),
      version: t.exposeInt('version', { description: 'Raised by every update.' }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
    }),
  })
}

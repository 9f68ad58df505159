/** Agents in GraphQL: their objects and queries. */
import { descriptionOf } from '../../../core/shapes.ts'
import {
  agentFields,
  errorProfile,
  toolChoiceMode,
  type AgentSettings,
  type McpSettings,
  type StepRule,
  type ToolChoiceRule,
} from '../../../domain/agents/index.ts'
import { hasPrefix, connectionOf, nameDescription } from '../builder/connections.ts'
import type { GateTypes } from './gates.ts'
import type { Refs } from '../builder/refs.ts'
import { z } from 'zod'
import * as agents from '../../../domain/agents/index.ts'
import { shown } from '../builder/action-mark.ts'
import { addById, addList } from '../builder/queries.ts'

/** Implements Agent with the types that only it uses. */
function addAgentType(refs: Refs, gates: GateTypes): void {
  const { builder, shapes } = refs
  const Mcp = builder.objectRef<McpSettings>('AgentMcp').implement({
    description: 'The settings of an agent for MCP clients.',
    fields: (t) => ({
      enabled: t.exposeBoolean('enabled', {
        description: 'Whether the agent is served to MCP clients at /mcp/{agentId}.',
      }),
      errorProfile: t.expose('errorProfile', {
        type: shapes.choice(errorProfile),
        description: 'The error codes that MCP clients receive.',
      }),
    }),
  })
  const ToolChoice = builder.objectRef<ToolChoiceRule>('ToolChoice').implement({
    description: 'Which tools the model may or must call: a mode, or the name of a tool.',
    fields: (t) => ({
      mode: t.field({
        type: shapes.choice(toolChoiceMode),
        nullable: true,
        description: 'Whether the model may or must call tools; null when a tool is named.',
        resolve: (c) => ('mode' in c ? c.mode : null),
      }),
      tool: t.string({
        nullable: true,
        description: 'The runtime name of the tool that the model must call; null when a mode is set.',
        resolve: (c) => ('tool' in c ? c.tool : null),
      }),
    }),
  })
  const Rule = builder.objectRef<StepRule>('StepRule').implement({
    description: 'Settings of one step or of a range of steps.',
    fields: (t) => ({
      step: t.exposeInt('step', {
        nullable: true,
        description: 'The number of the one step, from 1; null for a range of steps.',
      }),
      fromStep: t.exposeInt('fromStep', {
        nullable: true,
        description: 'The first step of the range; null: from step 1, or no range.',
      }),
      toStep: t.exposeInt('toStep', {
        nullable: true,
        description: 'The last step of the range; null: no end, or no range.',
      }),
      toolChoice: t.expose('toolChoice', {
        type: ToolChoice,
        nullable: true,
        description: 'The tool choice in these steps; null: that of the agent.',
      }),
      activeToolIds: t.exposeIDList('activeToolIds', {
        nullable: true,
        description:
          'The ids of the tools and agents that the model sees in these steps; null: those of the agent, []: none.',
      }),
    }),
  })
  const Stop = builder.objectRef<AgentSettings['stopConditions'][number]>('StopCondition').implement({
    description: 'A condition that ends the loop after a step.',
    fields: (t) => ({
      hasToolCall: t.exposeString('hasToolCall', {
        description: 'The runtime name of the tool whose call with valid arguments ends the loop.',
      }),
    }),
  })
  const Budget = builder.objectRef<AgentSettings['budget']>('Budget').implement({
    description:
      'Token limits, counted over input and output together. The generation ends with stopReason BUDGET.',
    fields: (t) => ({
      tokensPerGeneration: t.exposeFloat('tokensPerGeneration', {
        nullable: true,
        description: 'Maximum tokens of one generation and its child runs; null: no limit.',
      }),
      tokensPerDay: t.exposeFloat('tokensPerDay', {
        nullable: true,
        description: 'Maximum tokens of all generations of the agent within 24 hours; null: no limit.',
      }),
    }),
  })
  refs.AgentSettings.implement({
    description: 'The settings of an agent, or those that a generation was started with.',
    fields: (t) => ({
      ...shapes.storedFields(t, agentFields),
      tools: t.field({
        type: [refs.Tool],
        nullable: { list: false, items: true },
        description: 'The tools of toolIds; null for a tool that was deleted or is hidden from this API key.',
        resolve: (agent, _args, { loaders }) =>
          Promise.all(agent.toolIds.map((id) => loaders.tools.load(id))),
      }),
      agents: t.field({
        type: [refs.Agent],
        nullable: { list: false, items: true },
        description:
          'The agents of agentIds; null for an agent that was deleted or is hidden from this API key.',
        resolve: (agent, _args, { loaders }) =>
          Promise.all(agent.agentIds.map((id) => loaders.agents.load(id))),
      }),
      stepRules: t.expose('stepRules', {
        type: [Rule],
        description: 'Tool choice and visible tools by step; the first rule that covers a step applies.',
      }),
      toolChoice: t.expose('toolChoice', {
        type: ToolChoice,
        description:
          'Whether the model may or must call tools; a named tool is forced in the first step only.',
      }),
      stopConditions: t.expose('stopConditions', {
        type: [Stop],
        description: 'Conditions that end the loop after a step; one that is met is enough.',
      }),
      budget: t.expose('budget', {
        type: Budget,
        description: 'Token limits; reaching one ends the generation with stopReason BUDGET.',
      }),
      gate: t.field({
        type: gates.Policy,
        nullable: true,
        description: descriptionOf(agentFields.gate.shape),
        resolve: ({ gate }) => (gate ? { ...gate, source: 'OPERATOR' as const } : null),
      }),
      clientTimeoutMs: t.exposeFloat('clientTimeoutMs', {
        description: 'How long a generation waits for the output of a client tool, in milliseconds.',
      }),
      timeoutMs: t.exposeFloat('timeoutMs', {
        description:
          'Maximum time of the whole generation in milliseconds; time in which it waits for an approver does ' +
          'not count.',
      }),
    }),
  })
  refs.Agent.implement({
    description: 'An agent: a model with instructions, tools and the settings of its loop.',
    interfaces: [builder.nodeInterfaceRef(), refs.AgentSettings],
    isTypeOf: (value) => hasPrefix(value, 'agt_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the agent; it begins with agt_.' }),
      name: t.exposeString('name', { description: 'The name of the agent, unique in the project.' }),
      collidingNames: t.stringList({
        description:
          'Runtime names that several tools of the agent share since an upstream changed; the first of these ' +
          'tools is called.',
        resolve: (agent, _args, { loaders }) => loaders.collidingNames.load(agent),
      }),
      mcp: t.field({
        type: Mcp,
        description: descriptionOf(agentFields.mcp.shape),
        resolve: (agent) => agent.mcp,
      }),
      version: t.exposeInt('version', {
        description: 'The version of the agent; every update increments it.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the agent was created.' }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the agent was last changed.' }),
    }),
  })
}

/** Agents in GraphQL: the queries, and the mutations that create, change and delete one. */
export function addAgents(refs: Refs, gates: GateTypes): void {
  addAgentType(refs, gates)
  const connection = connectionOf(refs.Agent, 'Agent')
  addById(refs, {
    name: 'agent',
    type: refs.Agent,
    kind: 'agent',
    words: 'An agent',
    permission: 'agents:Get',
    action: shown.agent,
    load: (loaders, id) => loaders.agents.load(id),
  })
  addList(refs, {
    name: 'agents',
    type: connection,
    description: 'The agents of a project, newest first. Permission: agents:List.',
    args: {
      name: z.string().nullish().describe(nameDescription('agents')),
    },
    action: shown.agent,
    list: agents.listAgents,
  })
}

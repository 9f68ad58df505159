/** The object type of agents. */
import {
  mcpDefaults,
  type AgentSettings,
  type StepRule,
  type ToolChoiceRule,
} from '../../../domain/agents/index.ts'
import { hasPrefix } from '../builder/connections.ts'
import type { GateTypes } from './gates.ts'
import { mcpDescription, type McpSettingTypes } from './mcp-settings.ts'
import type { Refs } from '../builder/refs.ts'
import type { SettingInputs } from './settings.ts'

export const agentGate =
  'The gate for calls of all tools of the agent. It adds to the gates of the tools and can only be stricter; ' +
  'startGeneration cannot override it.'

export const agentIds =
  'The ids of the agents that this agent may call, at most 50, its own id included. The model sees each as a ' +
  'tool with its name; a call runs that agent and returns its final text.'

/** Implements Agent with the types that only it uses. */
export function addAgentType(
  refs: Refs,
  { Mode, Timeout }: SettingInputs,
  gates: GateTypes,
  mcp: McpSettingTypes,
): void {
  const { builder } = refs
  const ToolChoice = builder.objectRef<ToolChoiceRule>('ToolChoice').implement({
    description: 'Which tools the model may or must call: a mode, or the name of a tool.',
    fields: (t) => ({
      mode: t.field({
        type: Mode,
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
      instructions: t.exposeString('instructions', {
        nullable: true,
        description: 'The system message; null: none.',
      }),
      model: t.exposeString('model', {
        nullable: true,
        description: 'The model as provider/model; null: the default model of the installation.',
      }),
      toolIds: t.exposeIDList('toolIds', { description: 'The ids of the tools that the agent may call.' }),
      tools: t.field({
        type: [refs.Tool],
        nullable: { list: false, items: true },
        description: 'The tools of toolIds; null for a tool that was deleted or is hidden from this API key.',
        resolve: (agent, _args, { loaders }) =>
          Promise.all(agent.toolIds.map((id) => loaders.tools.load(id))),
      }),
      agentIds: t.idList({ description: agentIds, resolve: (agent) => agent.agentIds ?? [] }),
      agents: t.field({
        type: [refs.Agent],
        nullable: { list: false, items: true },
        description:
          'The agents of agentIds; null for an agent that was deleted or is hidden from this API key.',
        resolve: (agent, _args, { loaders }) =>
          Promise.all((agent.agentIds ?? []).map((id) => loaders.agents.load(id))),
      }),
      activeToolIds: t.exposeIDList('activeToolIds', {
        nullable: true,
        description:
          'The ids of the tools and agents that the model sees; null: all of toolIds and agentIds, []: none.',
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
      maxSteps: t.exposeInt('maxSteps', {
        description: 'Maximum model steps of a generation over all pauses and restarts.',
      }),
      finalAnswerOnLimit: t.exposeBoolean('finalAnswerOnLimit', {
        description: 'Whether the model writes one last answer without tools when maxSteps is reached.',
      }),
      outputSchema: t.expose('outputSchema', {
        type: 'JSONSchema',
        nullable: true,
        description: 'The JSON Schema of output.object; null: text output.',
      }),
      temperature: t.exposeFloat('temperature', {
        nullable: true,
        description: "The sampling temperature, 0 to 2; null: the provider's default.",
      }),
      maxOutputTokens: t.exposeInt('maxOutputTokens', {
        nullable: true,
        description: "Maximum output tokens of one model response; null: the provider's default.",
      }),
      parallelToolCalls: t.exposeBoolean('parallelToolCalls', {
        description:
          'Whether the tool calls of one step run at the same time; false runs them one by one, in order.',
      }),
      maxContextMessages: t.exposeInt('maxContextMessages', {
        nullable: true,
        description:
          'Maximum messages of the history that the model sees, rounded to whole turns; null: what fits the model.',
      }),
      budget: t.expose('budget', {
        type: Budget,
        description: 'Token limits; reaching one ends the generation with stopReason BUDGET.',
      }),
      gate: t.field({
        type: gates.Policy,
        nullable: true,
        description: agentGate,
        resolve: ({ gate }) => (gate ? { ...gate, source: 'OPERATOR' as const } : null),
      }),
      clientTimeoutMs: t.exposeFloat('clientTimeoutMs', {
        description: 'How long a generation waits for the output of a client tool, in milliseconds.',
      }),
      onClientTimeout: t.expose('onClientTimeout', {
        type: Timeout,
        description: 'What happens when the output of a client tool misses clientTimeoutMs.',
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
        type: mcp.Type,
        description: mcpDescription,
        resolve: (agent) => agent.mcp ?? mcpDefaults,
      }),
      version: t.exposeInt('version', {
        description: 'The version of the agent; every update increments it.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the agent was created.' }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the agent was last changed.' }),
    }),
  })
}

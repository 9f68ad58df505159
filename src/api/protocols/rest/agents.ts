/** Agents: SOAT's names for their settings. */
import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { invalidAt, notFound } from '../../../core/errors.ts'
import {
  createAgent,
  deleteAgent,
  getAgents,
  listAgents,
  updateAgent,
  type Agent,
  type ToolChoiceRule,
} from '../../../domain/agents/index.ts'
import type { InputOf } from '../../../domain/access/index.ts'
import { listReply, defineRoute } from './route.ts'
import * as shapes from './shapes.ts'

type AgentFields = z.output<typeof shapes.updateAgent>

function shown(agent: Agent): shapes.ShownAgent {
  const slash = agent.model?.indexOf('/') ?? -1
  return {
    id: agent.id,
    project_id: agent.projectId,
    ai_provider_id: agent.model?.slice(0, slash) ?? null,
    name: agent.name,
    instructions: agent.instructions,
    model: agent.model?.slice(slash + 1) ?? null,
    tool_ids: agent.toolIds,
    max_steps: agent.maxSteps,
    tool_choice: shownChoice(agent.toolChoice),
    stop_conditions: agent.stopConditions.map((one) => ({ type: 'hasToolCall', tool_name: one.hasToolCall })),
    active_tool_ids: agent.activeToolIds,
    step_rules: agent.stepRules.map((rule) => ({
      ...(rule.step === null ? { from_step: rule.fromStep, to_step: rule.toStep } : { step: rule.step }),
      tool_choice: rule.toolChoice && shownChoice(rule.toolChoice),
      active_tool_ids: rule.activeToolIds,
    })),
    temperature: agent.temperature,
    max_context_messages: agent.maxContextMessages,
    created_at: agent.createdAt.toISOString(),
    updated_at: agent.updatedAt.toISOString(),
  }
}

function shownChoice(rule: ToolChoiceRule): shapes.ShownAgent['tool_choice'] {
  if ('tool' in rule) return { type: 'tool', name: rule.tool }
  return rule.mode.toLowerCase() as Lowercase<typeof rule.mode>
}

function choiceOf(given: NonNullable<AgentFields['tool_choice']>) {
  return typeof given === 'string' ? { mode: given.toUpperCase() } : { tool: given.name ?? given.tool_name }
}

/** `provider/model`; undefined when neither is given. */
function modelOf({ ai_provider_id: provider, model }: AgentFields): string | null | undefined {
  if (!provider) return model
  if (!model) throw invalidAt(['model'], 'is required with ai_provider_id')
  return `${provider}/${model}`
}

/** The input of the operations, which validate every field. Fields that are not given stay undefined. */
function inputOf(given: AgentFields) {
  return {
    name: given.name,
    instructions: given.instructions,
    model: modelOf(given),
    toolIds: given.tool_ids,
    maxSteps: given.max_steps,
    toolChoice: given.tool_choice && choiceOf(given.tool_choice),
    stopConditions:
      given.stop_conditions?.map((one) => ({ hasToolCall: one.tool_name })) ?? given.stop_conditions,
    activeToolIds: given.active_tool_ids,
    stepRules:
      given.step_rules?.map((rule) => ({
        step: rule.step,
        fromStep: rule.from_step,
        toStep: rule.to_step,
        toolChoice: rule.tool_choice && choiceOf(rule.tool_choice),
        activeToolIds: rule.active_tool_ids,
      })) ?? given.step_rules,
    temperature: given.temperature,
    maxContextMessages: given.max_context_messages,
  }
}

const path = '/api/v1/agents'
const one = `${path}/{agent_id}`
const tag = 'Agents'

export const agentRoutes = [
  defineRoute({
    method: 'GET',
    path,
    operationId: 'listAgents',
    tag,
    summary: 'The agents of a project, newest first. Permission: agents:List.',
    query: shapes.list,
    answers: { 200: { description: 'The agents.', schema: shapes.agentList } },
    run: ({ request: { ctx }, query }) =>
      listReply(
        path,
        query,
        (input) => listAgents(ctx, input),
        (rows) => rows.map(shown),
      ),
  }),
  defineRoute({
    method: 'POST',
    path,
    operationId: 'createAgent',
    tag,
    summary: 'Creates an agent after checking it. Permission: agents:Create.',
    body: shapes.createAgent,
    answers: { 201: { description: 'The agent.', schema: shapes.agent } },
    async run({ request: { ctx }, body }) {
      const name = body.name ?? `agent ${randomUUID().slice(0, 8)}`
      const input = { projectId: body.project_id, ...inputOf(body), name } as InputOf<typeof createAgent>
      const { agent } = await createAgent(ctx, input)
      return { status: 201, body: shown(agent), headers: { location: `${path}/${agent.id}` } }
    },
  }),
  defineRoute({
    method: 'GET',
    path: one,
    operationId: 'getAgent',
    tag,
    summary: 'An agent. Permission: agents:Get.',
    answers: { 200: { description: 'The agent.', schema: shapes.agent } },
    async run({ request: { ctx }, params }) {
      const [agent] = await getAgents(ctx, [params['agent_id']!])
      if (!agent) throw notFound('agent', params['agent_id']!)
      return { status: 200, body: shown(agent) }
    },
  }),
  defineRoute({
    method: 'PUT',
    path: one,
    operationId: 'updateAgent',
    tag,
    summary: 'Changes the given fields of an agent and keeps the others. Permission: agents:Update.',
    body: shapes.updateAgent,
    answers: { 200: { description: 'The agent.', schema: shapes.agent } },
    async run({ request: { ctx }, params, body }) {
      const input = { ...inputOf(body), id: params['agent_id']! } as InputOf<typeof updateAgent>
      return { status: 200, body: shown((await updateAgent(ctx, input)).agent) }
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: one,
    operationId: 'deleteAgent',
    tag,
    summary: 'Deletes an agent; its runs are kept, and running ones go on. Permission: agents:Delete.',
    answers: { 204: { description: 'It is deleted.' } },
    async run({ request: { ctx }, params }) {
      await deleteAgent(ctx, { id: params['agent_id']! })
      return { status: 204 }
    },
  }),
]

/** The agent card: what a client must know to speak to an agent, and which of its tools the caller may know. */
import type { JsonObject } from '../../../core/json.ts'
import { allows, type Ctx } from '../../../domain/access/index.ts'
import { findAgentToStart, getAgents, type Agent } from '../../../domain/agents/index.ts'
import { getTools } from '../../../domain/tools/index.ts'

/** The most skills of a card. */
const mostSkills = 200
const modes = ['text/plain', 'application/json']

/** The card of the agent with this id or name. Action `generations:Start`; `tools:Get` and `agents:Get` for each skill. */
export async function cardOf(ctx: Ctx, named: string, publicUrl: string): Promise<JsonObject> {
  const agent = await findAgentToStart(ctx, named)
  return {
    name: agent.name,
    description: `The agent ${agent.name}, served by Gatehouse.`,
    version: String(agent.version),
    supportedInterfaces: ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({
      url: `${publicUrl}/a2a/${agent.id}`,
      protocolBinding,
      protocolVersion: '1.0',
    })),
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
    securitySchemes: {
      bearer: { httpAuthSecurityScheme: { scheme: 'Bearer', description: 'A key or token of Gatehouse.' } },
    },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: modes,
    defaultOutputModes: modes,
    skills: await skillsOf(ctx, agent),
  }
}

/** The tools and agents that it may use; for a caller who may know none of them, the agent as a whole. */
async function skillsOf(ctx: Ctx, { id, name, toolIds, agentIds }: Agent): Promise<JsonObject[]> {
  const { policy } = ctx.principal
  const toolsKnown = toolIds.filter((one) => allows(policy, 'tools:Get', `tool/${one}`)).slice(0, mostSkills)
  const agentsKnown = (agentIds ?? []).filter((one) => allows(policy, 'agents:Get', `agent/${one}`))
  const tools = (await getTools(ctx, toolsKnown)).flatMap((tool) => tool ?? [])
  const agents = (await getAgents(ctx, agentsKnown)).flatMap((agent) => agent ?? [])
  const skills = [
    ...tools.map((tool) => ({
      id: tool.id,
      name: tool.title ?? tool.name,
      description: tool.description ?? `The tool ${tool.name}.`,
      tags: ['tool', tool.kind],
    })),
    ...agents.map((agent) => ({
      id: agent.id,
      name: agent.name,
      description: `The agent ${agent.name}.`,
      tags: ['agent'],
    })),
  ].slice(0, mostSkills)
  return skills.length > 0 ? skills : [{ id, name, description: `Asks the agent ${name}.`, tags: ['agent'] }]
}

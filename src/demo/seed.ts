/** What a newcomer finds: a project with a small upstream, a few tools and an agent that rehearses, open to MCP. */
import { createAgent, listAgents, updateAgent } from '../domain/agents/index.ts'
import type { Ctx } from '../domain/access/index.ts'
import { rehearsalModel } from '../domain/generations/index.ts'
import { createTool, listTools, updateTool } from '../domain/tools/index.ts'
import { demoTools } from './tools.ts'

const page = { limit: 100, inverted: false }

/** Saves the demo's tools and agent, or brings their addresses up to date. Idempotent. Answers the agent's id. */
export async function seedDemo(ctx: Ctx, upstreamUrl: string): Promise<string> {
  const known = await listTools(ctx, { page })
  const toolIds: string[] = []
  for (const wanted of demoTools(upstreamUrl)) {
    const found = known.find((tool) => tool.name === wanted.name)
    if (found?.http && found.http.url !== wanted.config.http?.url)
      await updateTool(ctx, { id: found.id, config: wanted.config })
    toolIds.push((found ?? (await createTool(ctx, wanted))).id)
  }
  const agent = (await listAgents(ctx, { page })).find((one) => one.name === 'demo')
  if (agent) {
    const missing = toolIds.filter((id) => !agent.toolIds.includes(id))
    // A demo of before the bridge gets one; whoever closed it since keeps it closed.
    const mcp = agent.mcp ?? { enabled: true }
    if (missing.length > 0 || !agent.mcp)
      await updateAgent(ctx, { id: agent.id, toolIds: [...agent.toolIds, ...missing], mcp })
    return agent.id
  }
  const made = await createAgent(ctx, {
    name: 'demo',
    model: rehearsalModel,
    instructions:
      'You show what Gatehouse does. You are not an AI: you follow rules and "call tool {json}" lines.',
    toolIds,
    mcp: { enabled: true },
  })
  return made.id
}

/** The demo project: a few tools of a local upstream, and an agent with the rehearsal model that is served over MCP. */
import { everyRow, type Page } from '../core/page.ts'
import { createAgent, listAgents, updateAgent } from '../domain/agents/index.ts'
import type { Ctx } from '../domain/access/index.ts'
import { beginGeneration } from '../domain/generations/index.ts'
import { rehearsalModel } from '../domain/models/index.ts'
import { createTool, listTools, updateTool } from '../domain/tools/index.ts'
import { demoTools } from './tools.ts'

/** What the demo is asked at its first start: one run that ends, and one whose refund a person must agree to. */
const firstPrompts = [
  'call get_weather {"city":"Lisbon"}\ncall web_search {"query":"things to do in Lisbon"}\nthen\nsay It is a good day for a walk along the river.',
  'say The customer of order A-1 got a broken lamp and wants the money back.\ncall send_refund {"order_id":"A-1","amount":180}',
]

/** The one that has this name; others may have it as a part of theirs. */
async function named<Row extends { id: string; name: string; createdAt: Date }>(
  list: (page: Page) => Promise<Row[]>,
  name: string,
): Promise<Row | undefined> {
  return (await everyRow(list)).find((row) => row.name === name)
}

/**
 * Creates the tools and the agent of the demo, or updates their URLs. Idempotent. With the agent come a run to look at and
 * a question that waits for a person, so that the first page is not an empty one. Returns the id of the agent.
 */
export async function seedDemo(ctx: Ctx, upstreamUrl: string): Promise<string> {
  const toolIds: string[] = []
  for (const wanted of demoTools(upstreamUrl)) {
    const found = await named((page) => listTools(ctx, { name: wanted.name, page }), wanted.name)
    if (found?.http && found.http.url !== wanted.config.http?.url)
      await updateTool(ctx, { id: found.id, config: wanted.config })
    toolIds.push((found ?? (await createTool(ctx, wanted)).tool).id)
  }
  const agent = await named((page) => listAgents(ctx, { name: 'demo', page }), 'demo')
  if (agent) {
    const missing = toolIds.filter((id) => !agent.toolIds.includes(id))
    if (missing.length > 0) await updateAgent(ctx, { id: agent.id, toolIds: [...agent.toolIds, ...missing] })
    return agent.id
  }
  const { agent: made } = await createAgent(ctx, {
    name: 'demo',
    model: rehearsalModel,
    instructions:
      'You show what Gatehouse does. You are not an AI: you follow rules and "call tool {json}" lines.',
    toolIds,
    mcp: { enabled: true },
  })
  for (const prompt of firstPrompts) await beginGeneration(ctx, { agentId: made.id, prompt })
  return made.id
}

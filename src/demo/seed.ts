/** What a newcomer finds: a project with a small upstream, three tools and an agent that rehearses. */
import { createAgent, listAgents, updateAgent } from '../domain/agents/index.ts'
import type { Ctx } from '../domain/access/index.ts'
import { rehearsalModel } from '../domain/generations/index.ts'
import { createTool, listTools, updateTool, type CreateToolInput } from '../domain/tools/index.ts'

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
    if (missing.length > 0) await updateAgent(ctx, { id: agent.id, toolIds: [...agent.toolIds, ...missing] })
    return agent.id
  }
  const made = await createAgent(ctx, {
    name: 'demo',
    model: rehearsalModel,
    instructions:
      'You show what Gatehouse does. You are not an AI: you follow rules and "call tool {json}" lines.',
    toolIds,
  })
  return made.id
}

function demoTools(upstreamUrl: string): CreateToolInput[] {
  return [
    {
      name: 'get_weather',
      title: 'Weather',
      description: 'Fetches the current weather of a city.',
      // The model never sees "unit": the server's value always wins.
      presetParameters: { unit: 'celsius' },
      config: {
        http: {
          url: `${upstreamUrl}/v1/weather/{city}`,
          method: 'GET',
          inputSchema: {
            type: 'object',
            properties: {
              city: { type: 'string', description: 'The name of the city.', minLength: 1 },
              unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
            },
            required: ['city', 'unit'],
            additionalProperties: false,
          },
        },
      },
    },
    {
      name: 'send_refund',
      title: 'Refund',
      description: 'Pays money back for an order. A person must agree to more than 100.',
      gate: {
        mode: 'WHEN',
        when: { type: 'object', properties: { amount: { exclusiveMinimum: 100 } }, required: ['amount'] },
      },
      config: {
        http: {
          url: `${upstreamUrl}/v1/refunds`,
          method: 'POST',
          inputSchema: {
            type: 'object',
            properties: {
              order_id: { type: 'string', description: 'The order, such as A-17.', minLength: 1 },
              amount: { type: 'number', description: 'In euros.', exclusiveMinimum: 0 },
            },
            required: ['order_id', 'amount'],
            additionalProperties: false,
          },
        },
      },
    },
    {
      name: 'read_local_file',
      title: 'Local file',
      description: 'Reads a file on the machine of the calling application.',
      config: {
        client: {
          inputSchema: {
            type: 'object',
            properties: { path: { type: 'string', description: 'An absolute path.' } },
            required: ['path'],
            additionalProperties: false,
          },
        },
      },
    },
  ]
}

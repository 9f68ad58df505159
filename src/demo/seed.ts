/** The demo project: a few tools of a local upstream, and an agent with the rehearsal model that is served over MCP. */
import type { InputOf, Ctx } from '../domain/access/index.ts'
import { createTool, listTools, updateTool } from '../domain/tools/index.ts'
import { everyRow, type Page } from '../core/page.ts'
import { createAgent, listAgents, updateAgent } from '../domain/agents/index.ts'
import { beginGeneration } from '../domain/generations/index.ts'
import { rehearsalModel } from '../domain/models/index.ts'

type CreateToolInput = InputOf<typeof createTool>

/** In the order in which clients list them. Their URLs are those of the demo upstream. */
function demoTools(upstreamUrl: string): CreateToolInput[] {
  return [weather(upstreamUrl), search(upstreamUrl), csv(upstreamUrl), refund(upstreamUrl), localFile]
}

const weather = (upstreamUrl: string): CreateToolInput => ({
  name: 'get_weather',
  title: 'Weather',
  description: 'Fetches the current weather of a city.',
  // A preset: the model does not see "unit", and this value is always used.
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
})

const search = (upstreamUrl: string): CreateToolInput => ({
  name: 'web_search',
  title: 'Web search',
  description: 'Search the web for current information on any topic.',
  annotations: { readOnlyHint: true },
  config: {
    http: {
      url: `${upstreamUrl}/v1/search`,
      method: 'GET',
      inputSchema: {
        type: 'object',
        properties: {
          query: { type: 'string', description: 'The search query' },
          max_results: {
            type: 'integer',
            description: 'Maximum number of results to return',
            default: 5,
            minimum: 1,
            maximum: 20,
          },
        },
        required: ['query'],
      },
    },
  },
})

const csv = (upstreamUrl: string): CreateToolInput => ({
  name: 'save_csv',
  title: 'Save CSV',
  description: 'Save parsed invoice data as a CSV file to the shared drive',
  config: {
    http: {
      url: `${upstreamUrl}/v1/csv`,
      method: 'POST',
      inputSchema: {
        type: 'object',
        properties: {
          filename: { type: 'string', description: 'Output filename without extension' },
          rows: {
            type: 'array',
            items: {
              type: 'object',
              properties: {
                date: { type: 'string' },
                amount: { type: 'number' },
                vendor: { type: 'string' },
              },
            },
          },
        },
        required: ['filename', 'rows'],
      },
    },
  },
})

const refund = (upstreamUrl: string): CreateToolInput => ({
  name: 'send_refund',
  title: 'Refund',
  description: 'Pays money back for an order. A person must agree to more than 100.',
  gate: {
    mode: 'WHEN',
    // Whoever starts the demo has time to read before the first question expires.
    timeoutSeconds: 3600,
    title: 'Refund {amount} EUR for order {order_id}',
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
})

const localFile: CreateToolInput = {
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
}

/** What the demo is asked at its first start: one run that ends, and one whose refund a person must agree to. */
const firstPrompts = [
  'call get_weather {"city":"Lisbon"}\ncall web_search {"query":"things to do in Lisbon"}\nthen\nsay It is a good day for a walk along the river.',
  'say The customer of order A-1 got a broken lamp and wants the money back.\ncall send_refund {"order_id":"A-1","amount":180}',
] as const

interface Demo {
  agentId: string
  /** The tool that its gate stops. */
  toolId: string
  /** What makes the agent call it. */
  prompt: string
}

/** The one that has this name; others may have it as a part of theirs. */
async function named<Row extends { id: string; name: string; createdAt: Date }>(
  list: (page: Page) => Promise<Row[]>,
  name: string,
): Promise<Row | undefined> {
  return (await everyRow(list)).find((row) => row.name === name)
}

/**
 * Creates the tools and the agent of the demo, or updates their URLs. Idempotent. With the agent come a run to look at and
 * a question that waits for a person, so that the first page is not an empty one.
 */
export async function seedDemo(ctx: Ctx, upstreamUrl: string): Promise<Demo> {
  const toolIds: string[] = []
  for (const wanted of demoTools(upstreamUrl)) {
    const found = await named((page) => listTools(ctx, { name: wanted.name, page }), wanted.name)
    if (found?.http && found.http.url !== wanted.config.http?.url)
      await updateTool(ctx, { id: found.id, config: wanted.config })
    toolIds.push((found ?? (await createTool(ctx, wanted)).tool).id)
  }
  const toolId = toolIds[demoTools(upstreamUrl).findIndex(({ name }) => name === 'send_refund')]!
  const shown = { toolId, prompt: firstPrompts[1] }
  const agent = await named((page) => listAgents(ctx, { name: 'demo', page }), 'demo')
  if (agent) {
    const missing = toolIds.filter((id) => !agent.toolIds.includes(id))
    if (missing.length > 0) await updateAgent(ctx, { id: agent.id, toolIds: [...agent.toolIds, ...missing] })
    return { agentId: agent.id, ...shown }
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
  return { agentId: made.id, ...shown }
}

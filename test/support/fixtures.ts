/** The common parts of a test: an upstream that counts, tools over it, and agents that use them. */
import { startLoopback, type Loopback } from './loopback.ts'
import type { Harness } from './harness.ts'

export interface Fixtures {
  upstream: Loopback
  /** Ids of the tools by name: look (GET), act (POST, not idempotent), ask and tell (client). */
  tools: Record<'look' | 'act' | 'ask' | 'tell', string>
  /** Makes an agent with all four tools and these settings; returns its id. */
  agent(settings?: object): Promise<string>
  /** Starts a run; returns the generation's id. */
  start(agentId: string, prompt: string | object[], more?: object): Promise<string>
  /** Submits one output for each open client call and returns the payload. */
  answer(generationId: string, output?: unknown): Promise<Record<string, any>>
  close(): Promise<void>
}

export const objectSchema = (properties: object, required: string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

/** The upstream responds `{"saw": path}` with 200. */
export async function makeFixtures(h: Harness): Promise<Fixtures> {
  const upstream = await startLoopback((request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ saw: request.url }))
  })
  const make = async (name: string, config: object) =>
    (await h.mutate('createTool', { name, config }, 'tool { id }'))['tool'].id as string
  const word = objectSchema({ word: { type: 'string' } }, ['word'])
  const tools = {
    look: await make('look', {
      http: { url: `${upstream.url}/look/{word}`, method: 'GET', inputSchema: word },
    }),
    act: await make('act', { http: { url: `${upstream.url}/act`, method: 'POST', inputSchema: word } }),
    ask: await make('ask', { client: { inputSchema: word } }),
    tell: await make('tell', { client: { inputSchema: word } }),
  }
  let count = 0
  return {
    upstream,
    tools,
    agent: async (settings = {}) => {
      const input = { name: `agent ${++count}`, toolIds: Object.values(tools), ...settings }
      const made = await h.mutate('createAgent', input, 'agent { id }')
      if (!made['agent']) throw new Error(JSON.stringify(made))
      return made['agent'].id
    },
    start: async (agentId, prompt, more = {}) => {
      const said = typeof prompt === 'string' ? { prompt } : { messages: prompt }
      const made = await h.mutate('startGeneration', { agentId, ...said, ...more }, 'generation { id }')
      if (!made['generation']) throw new Error(JSON.stringify(made))
      return made['generation'].id
    },
    answer: async (generationId, output = 'answered') => {
      const waiting = await h.until(generationId, ['REQUIRES_ACTION'])
      const outputs = waiting['requiredAction'].toolCalls.map((call: { id: string }) => ({
        toolCallId: call.id,
        output,
      }))
      return h.mutate(
        'submitToolOutputs',
        { generationId, outputs },
        'generation { id status } outcomes { toolCallId status error { code message } }',
      )
    },
    close: () => upstream.close(),
  }
}

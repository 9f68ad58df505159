/** An agent of Mastra whose tool suspends, with its snapshots in PostgreSQL. */
import { Mastra } from '@mastra/core'
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { PostgresStore } from '@mastra/pg'
import { z } from 'zod'

/** The two halves of a unit. */
export function open({ modelUrl, databaseUrl }) {
  const ask = createTool({
    id: 'ask',
    description: 'Asks somebody.',
    inputSchema: z.object({ word: z.string() }),
    suspendSchema: z.object({}),
    resumeSchema: z.object({ output: z.string() }),
    execute: (_, { agent }) => agent.resumeData?.output ?? agent.suspend({}),
  })
  const bench = new Agent({
    id: 'bench',
    name: 'bench',
    instructions: 'Help.',
    model: { id: 'local/bench', url: modelUrl, apiKey: 'none' },
    tools: { ask },
  })
  const storage = new PostgresStore({ id: 'bench', connectionString: databaseUrl })
  const agent = new Mastra({ agents: { bench }, storage, logger: false }).getAgent('bench')
  return {
    async start() {
      const { finishReason, runId, suspendPayload } = await agent.generate('Go.')
      if (finishReason !== 'suspended') throw new Error(`Mastra did not pause: ${finishReason}.`)
      return { runId, toolCallId: suspendPayload.toolCallId }
    },
    async resume(paused) {
      return (await agent.resumeGenerate({ output: 'ok' }, paused)).text
    },
  }
}

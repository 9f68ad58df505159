/** LangGraph as a library, with its checkpoints in PostgreSQL. */
import { randomUUID } from 'node:crypto'
import { Command } from '@langchain/langgraph'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'

/** The two halves of a unit. OPENAI_BASE_URL says where the model is. */
export async function open({ modelUrl, databaseUrl }) {
  process.env['OPENAI_BASE_URL'] = modelUrl
  const { graph } = await import('./langgraph-graph.js')
  const checkpointer = PostgresSaver.fromConnString(databaseUrl)
  await checkpointer.setup()
  const compiled = graph.compile({ checkpointer })
  const configOf = (thread) => ({ configurable: { thread_id: thread } })
  return {
    async start() {
      const thread = randomUUID()
      const state = await compiled.invoke({ messages: [{ role: 'user', content: 'Go.' }] }, configOf(thread))
      if (!state.__interrupt__) throw new Error('LangGraph did not pause.')
      return { thread }
    },
    async resume({ thread }) {
      const state = await compiled.invoke(new Command({ resume: 'ok' }), configOf(thread))
      return state.messages.at(-1).content
    },
  }
}

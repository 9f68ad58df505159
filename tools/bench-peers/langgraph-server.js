/** The server of LangGraph that keeps everything in memory, with as many workers as `langgraphjs dev` has. */
import { join } from 'node:path'

export async function open({ modelUrl, folder }) {
  Object.assign(process.env, { OPENAI_BASE_URL: modelUrl, LOG_LEVEL: 'error' })
  const { startServer } = await import('@langchain/langgraph-api/server')
  const { host } = await startServer({
    port: 0,
    host: '127.0.0.1',
    nWorkers: 10,
    cwd: folder,
    graphs: { bench: `${join(import.meta.dirname, 'langgraph-graph.js')}:graph` },
  })
  return `http://${host}`
}

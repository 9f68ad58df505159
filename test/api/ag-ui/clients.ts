/** The client of AG-UI that the API is judged by. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const peers = createRequire(join(import.meta.dirname, '../../../tools/peers/package.json'))

/** What is used of AG-UI's HttpAgent: its own package wants another major of zod, so it is no dependency here. */
export interface HttpAgent {
  threadId: string
  messages: Record<string, any>[]
  pendingInterrupts: { id: string; toolCallId?: string; responseSchema?: object; expiresAt?: string }[]
  addMessage(message: object): void
  abortRun(): void
  runAgent(
    parameters?: { runId?: string; tools?: object[]; context?: object[]; resume?: object[] },
    subscriber?: object,
  ): Promise<{ result: unknown; newMessages: Record<string, any>[] }>
}

/** Opens a thread of an agent, by name or id. `messages` are those that the page has. */
export async function openAgent(
  url: string,
  key: string,
  agent: string,
  init: { threadId?: string; messages?: object[] } = {},
): Promise<HttpAgent> {
  const { HttpAgent } = (await import(pathToFileURL(peers.resolve('@ag-ui/client')).href)) as {
    HttpAgent: new (config: object) => HttpAgent
  }
  return new HttpAgent({
    url: `${url}/ag-ui/${encodeURIComponent(agent)}`,
    headers: { authorization: `Bearer ${key}` },
    ...(init.threadId ? { threadId: init.threadId } : {}),
    ...(init.messages ? { initialMessages: init.messages } : {}),
  })
}

let count = 0
export const said = (content: string, id = `m${++count}`) => ({ id, role: 'user', content })
/** The messages of the page, shortly. */
export const shown = (agent: HttpAgent) =>
  agent.messages.map(({ role, content, toolCalls }) => [
    role,
    content ?? '',
    ...(toolCalls ?? []).map((call: any) => `${call.function.name} ${call.function.arguments}`),
  ])

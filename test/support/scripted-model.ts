/**
 * A model on loopback in the four wire formats for programs that bring their own loop: what it calls next follows from how many
 * tool results a request holds, so that a program that is ended and resumed gets the same.
 */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { framesOf, type Wire } from './wire-frames.ts'

export interface ScriptedModel {
  url: string
  /** The bodies of the requests that had tools, oldest first. */
  requests: Record<string, any>[]
  close(): Promise<void>
}

export interface ScriptedCall {
  name: string
  input: object
}

/** Calls these one after the other, and says `done` when it has the results of all. */
export async function startScriptedModel(calls: readonly ScriptedCall[]): Promise<ScriptedModel> {
  const requests: Record<string, any>[] = []
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    const body = await bodyOf(request)
    const json = (status: number, value: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (path.includes('count_tokens')) return void json(200, { input_tokens: 10 })
    if (path.includes(':countTokens')) return void json(200, { totalTokens: 10 })
    if (request.method !== 'POST') return void json(200, { data: [], models: [], object: 'list' })
    const wire = wireOf(path)
    // Programs ask for titles and the like without tools.
    const isTurn = (body['tools']?.length ?? 0) > 0
    if (isTurn) requests.push(body)
    const next = isTurn ? calls[resultsIn(wire, body)] : undefined
    const answer = next
      ? { calls: [{ name: next.name, arguments: JSON.stringify(next.input) }] }
      : { text: isTurn ? 'done' : '{"title": "A task"}' }
    const frames = framesOf(wire, answer)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const frame of frames) response.write(frame)
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, any>> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  return text ? (JSON.parse(text) as Record<string, any>) : {}
}

function wireOf(path: string): Wire {
  if (path.includes('GenerateContent')) return 'google'
  if (path.includes('/responses')) return 'openai'
  return path.includes('/messages') ? 'anthropic' : 'compatible'
}

/** How many tool results the conversation has. */
function resultsIn(wire: Wire, body: Record<string, any>): number {
  const items: Record<string, any>[] =
    wire === 'openai' ? body['input'] : wire === 'google' ? body['contents'] : body['messages']
  const inside = (item: Record<string, any>, key: string) =>
    Array.isArray(item[key]) ? (item[key] as Record<string, any>[]) : []
  const isResult: Record<Wire, (item: Record<string, any>) => number> = {
    openai: ({ type }) => (String(type).endsWith('_output') ? 1 : 0),
    compatible: ({ role }) => (role === 'tool' ? 1 : 0),
    anthropic: (item) => inside(item, 'content').filter(({ type }) => type === 'tool_result').length,
    google: (item) => inside(item, 'parts').filter((part) => part['functionResponse']).length,
  }
  return items.reduce((sum, item) => sum + isResult[wire](item), 0)
}

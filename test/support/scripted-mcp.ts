/** A legacy MCP server with a session and the tool `pay`, whose calls are answered as the test says. */
import type { ServerResponse } from 'node:http'
import { startLoopback } from './loopback.ts'

export interface ScriptedMcp {
  url: string
  /** The key of each `tools/call` that arrived. */
  calls: unknown[]
  /** Sessions so far. */
  opened(): number
  close(): Promise<void>
}

/** `answers` gets the response, the id of the request, and how many calls there are so far. */
export async function startScriptedMcp(
  answers: (response: ServerResponse, id: unknown, nth: number) => void,
): Promise<ScriptedMcp> {
  const calls: unknown[] = []
  let opened = 0
  const server = await startLoopback(({ method, body, headers }, response) => {
    if (method !== 'POST') return response.writeHead(405).end()
    const { id, method: name } = JSON.parse(body)
    const result = (value: object, more = {}) =>
      respond(response, 200, { jsonrpc: '2.0', id, result: value }, more)
    if (name === 'tools/call') {
      calls.push(headers['idempotency-key'])
      return answers(response, id, calls.length)
    }
    if (name === 'initialize')
      return result(
        {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 's', version: '1' },
        },
        { 'mcp-session-id': `session-${++opened}` },
      )
    if (name === 'tools/list')
      return result({ tools: [{ name: 'pay', inputSchema: { type: 'object', properties: {} } }] })
    if (id === undefined) return response.writeHead(202).end()
    respond(response, 400, { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } })
  })
  return { url: `${server.url}/mcp`, calls, opened: () => opened, close: () => server.close() }
}

/** Answers with a message as JSON. */
export function respond(response: ServerResponse, status: number, message: object, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(message))
}

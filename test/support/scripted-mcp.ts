/** A legacy MCP server with a session and the tool `pay`, whose requests are answered as the test says. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { startLoopback } from './loopback.ts'

export interface ScriptedMcp {
  url: string
  /** The key of each `tools/call` that arrived. */
  calls: unknown[]
  /** Sessions so far. */
  opened(): number
  /** When each GET arrived, in milliseconds. */
  streams: number[]
  close(): Promise<void>
}

/** Answers a request with this id and these headers; false leaves it to the server. */
export type Scripted = (response: ServerResponse, id: unknown, headers: IncomingHttpHeaders) => unknown

/**
 * `answers` gets the response, the id of the request, and how many calls there are so far. `others` answers the requests of
 * other methods of MCP, by name, or of HTTP; change it at any time.
 */
export async function startScriptedMcp(
  answers: (response: ServerResponse, id: unknown, nth: number, headers: IncomingHttpHeaders) => void,
  others: Record<string, Scripted> = {},
): Promise<ScriptedMcp> {
  const calls: unknown[] = []
  const streams: number[] = []
  let opened = 0
  const server = await startLoopback(({ method, body, headers }, response) => {
    if (method === 'GET') streams.push(performance.now())
    if (method !== 'POST') {
      if (!others[method]) response.writeHead(405).end()
      return void others[method]?.(response, null, headers)
    }
    const { id, method: name } = JSON.parse(body)
    const result = (value: object, more = {}) =>
      respond(response, 200, { jsonrpc: '2.0', id, result: value }, more)
    if (name === 'tools/call') {
      calls.push(headers['idempotency-key'])
      return answers(response, id, calls.length, headers)
    }
    if (others[name] && others[name](response, id, headers) !== false) return
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
  return { url: `${server.url}/mcp`, calls, streams, opened: () => opened, close: () => server.close() }
}

/** Answers with a message as JSON. */
export function respond(response: ServerResponse, status: number, message: object, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(message))
}

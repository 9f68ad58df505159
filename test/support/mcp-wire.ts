/** MCP requests as they are on the wire: modern ones with their envelope, legacy ones within a session. */
import { rpc, type RpcAnswer } from './bridge.ts'

export const modernProtocol = '2026-07-28'
export const legacyProtocol = '2025-11-25'
/** The Accept header of a client that reads streams. */
export const acceptStream = 'application/json, text/event-stream'
/** The capabilities of a client that supports tasks. */
export const tasksCapability = { extensions: { 'io.modelcontextprotocol/tasks': {} } }

/** The `_meta` of a modern request. */
export function envelope(capabilities: object = {}): Record<string, any> {
  return {
    'io.modelcontextprotocol/protocolVersion': modernProtocol,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  }
}

type Params = Record<string, any>

function modernHeaders(method: string, params: Params): Record<string, string> {
  return {
    accept: acceptStream,
    'mcp-protocol-version': modernProtocol,
    'mcp-method': method,
    'mcp-name': params['taskId'] ?? params['name'] ?? '',
  }
}

function modernMessage(method: string, params: Params, capabilities?: object): object {
  const _meta = { ...envelope(capabilities), ...params['_meta'] }
  return { jsonrpc: '2.0', id: 7, method, params: { ...params, _meta } }
}

/** Sends a modern request and returns its response. `params._meta` is added to the envelope. */
export function modernRpc(
  url: string,
  key: string,
  method: string,
  params: Params,
  capabilities: object = {},
  more: Record<string, string> = {},
): Promise<RpcAnswer> {
  const headers = { ...modernHeaders(method, params), ...more }
  return rpc(url, key, modernMessage(method, params, capabilities), headers)
}

/** Sends a modern request and returns its response while the server may still stream it. The signal disconnects. */
export function openModern(
  url: string,
  key: string,
  method: string,
  params: Params,
  signal: AbortSignal | null = null,
): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    signal,
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${key}`,
      ...modernHeaders(method, params),
    },
    body: JSON.stringify(modernMessage(method, params)),
  })
}

/** Starts a legacy session and returns the headers of its requests. */
export async function startSession(
  url: string,
  key: string,
  protocolVersion = legacyProtocol,
): Promise<Record<'accept' | 'mcp-protocol-version' | 'mcp-session-id', string>> {
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } }
  const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params }
  const { headers } = await rpc(url, key, initialize, { accept: acceptStream })
  return {
    accept: acceptStream,
    'mcp-protocol-version': protocolVersion,
    'mcp-session-id': headers.get('mcp-session-id')!,
  }
}

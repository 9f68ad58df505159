/** Plain JSON-RPC over HTTP: one POST with the given headers. */

export interface RpcAnswer {
  status: number
  headers: Headers
  /** The JSON body; for a stream its last message. */
  body: Record<string, any>
}

/** Sends one JSON-RPC message. Without headers the server sees a plain caller and uses the SEED error profile. */
export async function rpc(
  url: string,
  key: string | null,
  message: unknown,
  headers: Record<string, string> = {},
): Promise<RpcAnswer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(key === null ? {} : { 'x-agent-api-key': key }),
      ...headers,
    },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: messageOf(text) }
}

/** Calls a tool as a plain caller and returns the whole response. */
export function callRaw(
  url: string,
  key: string,
  name: string,
  args: object,
  headers: Record<string, string> = {},
): Promise<RpcAnswer> {
  const message = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name, arguments: args } }
  return rpc(url, key, message, headers)
}

function messageOf(text: string): Record<string, any> {
  const data = text.split('\n').findLast((line) => line.startsWith('data: {'))
  return JSON.parse(data ? data.slice('data: '.length) : text || '{}') as Record<string, any>
}

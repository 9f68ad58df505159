/** Errors that the SDK makes by itself get the stable type that ours have, and none shows how it was found. */
import type { JSONRPCMessage, Server } from '@modelcontextprotocol/server'
import { isJsonObject } from '../../core/json.ts'
import { codes } from './errors.ts'

const types: Record<number, string> = {
  [codes.parse]: 'parse_error',
  [codes.invalidRequest]: 'invalid_request',
  [codes.unknownMethod]: 'unknown_method',
  [codes.invalidParams]: 'invalid_params',
  [codes.internal]: 'internal_error',
  [codes.headerMismatch]: 'header_mismatch',
  [-32021]: 'missing_client_capability',
  [-32022]: 'unsupported_protocol_version',
}

interface WireError {
  code: number
  message: string
  data?: unknown
}

/** The server, whose errors all have a type from now on. */
export function withTypedErrors(server: Server): Server {
  const connect = server.connect.bind(server)
  server.connect = (transport) => {
    const send = transport.send.bind(transport)
    transport.send = (message, options) => send(typed(message) as JSONRPCMessage, options)
    return connect(transport)
  }
  return server
}

/** The same for refusals that came before any server. */
export async function withTypedBody(response: Response): Promise<Response> {
  if (response.status < 400 || !response.headers.get('content-type')?.startsWith('application/json'))
    return response
  const body = typed(await response.json())
  const headers = new Headers(response.headers)
  headers.delete('content-length')
  return new Response(JSON.stringify(body), { status: response.status, headers })
}

function typed(message: unknown): unknown {
  if (!isJsonObject(message) || !isJsonObject(message['error'])) return message
  const error = message['error'] as unknown as WireError
  const data = isJsonObject(error.data) ? error.data : {}
  if (typeof data['type'] === 'string') return message
  const sound = soundOf(error)
  return { ...message, error: { ...sound, data: { ...data, type: types[sound.code] ?? 'refused' } } }
}

/** Malformed params come out of the SDK as an internal error that lists what its validator found. */
function soundOf(error: WireError): Pick<WireError, 'code' | 'message'> {
  const { code, message } = error
  if (code !== codes.internal) return { code, message }
  return message.trimStart().startsWith('[')
    ? { code: codes.invalidParams, message: 'Invalid params' }
    : { code, message: 'Internal error' }
}

/** Gives the SDK's own errors a stable `data.type`, and hides the internals that they may contain. */
import type { JSONRPCMessage, Server } from '@modelcontextprotocol/server'
import { asText, isJsonObject, type JsonObject, readJson, writeJson } from '../../../core/json.ts'
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

/** The server, changed so that every error it sends has a type. */
export function withTypedErrors(server: Server): Server {
  const connect = server.connect.bind(server)
  server.connect = (transport) => {
    const send = transport.send.bind(transport)
    transport.send = (message, options) => send(withType(message), options)
    return connect(transport)
  }
  return server
}

/** The same for an HTTP error response that the SDK made without a server. */
export async function withTypedBody(response: Response): Promise<Response> {
  if (response.status < 400 || !response.headers.get('content-type')?.startsWith('application/json'))
    return response
  const body = withType(readJson(await response.text()) as JSONRPCMessage)
  const headers = new Headers(response.headers)
  headers.delete('content-length')
  return new Response(writeJson(body), { status: response.status, headers })
}

function withType(message: JSONRPCMessage): JSONRPCMessage {
  if (!isJsonObject(message) || !isJsonObject(message['error'])) return message
  const data = isJsonObject(message['error']['data']) ? message['error']['data'] : {}
  if (typeof data['type'] === 'string') return message
  const error = maskedError(message['error'])
  return { ...message, error: { ...error, data: { ...data, type: types[error.code] ?? 'refused' } } }
}

/** The SDK reports invalid params as an internal error whose message lists what its validator found. */
function maskedError({ code: given, message: text }: JsonObject): { code: number; message: string } {
  const [code, message] = [Number(given), asText(text)]
  if (code !== codes.internal) return { code, message }
  return message.trimStart().startsWith('[')
    ? { code: codes.invalidParams, message: 'Invalid params' }
    : { code, message: 'Internal error' }
}

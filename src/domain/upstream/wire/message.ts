/** Reads one JSON-RPC message of a foreign server: null is absent, and members that nobody knows are left out. Pure. */
import { isSpecType } from '@modelcontextprotocol/client'
import { asText, isJsonObject, type Json, type JsonObject } from '../../../core/json.ts'

/** A message in the form of the protocol. Ids of responses are text, as some servers send them; null: none. */
export type Message =
  | { kind: 'response'; id: string | null; result: Json }
  | { kind: 'error'; id: string | null; error: JsonObject }
  | { kind: 'request'; message: JsonObject }

/** Null for what is no message. */
export function readMessage(raw: Json): Message | null {
  if (!isJsonObject(raw)) return null
  const { method, error, result } = raw
  if (typeof method === 'string') return { kind: 'request', message: readRequest(raw, method) }
  const id = (raw['id'] ?? null) === null ? null : asText(raw['id'])
  if (error !== undefined && error !== null) return { kind: 'error', id, error: readError(error) }
  return result === undefined ? null : { kind: 'response', id, result }
}

function readRequest({ id, params }: JsonObject, method: string): JsonObject {
  const isRequest = id !== undefined && id !== null
  return {
    jsonrpc: '2.0',
    ...(isRequest ? { id } : {}),
    method,
    ...(isJsonObject(params) ? { params: isRequest ? params : withoutNulls(params) } : {}),
  }
}

/** `InternalError` of JSON-RPC, for an error without a code. */
const internalError = -32603

function readError(error: Json): JsonObject {
  if (!isJsonObject(error)) return { code: internalError, message: asText(error) }
  const { code, message, data } = error
  const number = typeof code === 'string' ? Number(code) : code
  return {
    code: typeof number === 'number' && Number.isSafeInteger(number) ? number : internalError,
    message: typeof message === 'string' ? message : asText(message ?? error),
    ...(data === undefined || data === null ? {} : { data }),
  }
}

/** The result of `initialize`. A server that says nothing about itself has no name and no capabilities. */
export function readInitialize(result: JsonObject): JsonObject {
  const { protocolVersion, capabilities, serverInfo, instructions } = result
  const server = isJsonObject(serverInfo) ? serverInfo : {}
  const textOf = (value: Json | undefined) => (typeof value === 'string' ? value : '')
  return {
    protocolVersion: textOf(protocolVersion) || assumedVersion,
    capabilities: readCapabilities(capabilities),
    serverInfo: { name: textOf(server['name']), version: textOf(server['version']) },
    ...(typeof instructions === 'string' ? { instructions } : {}),
  }
}

/** What the specification assumes where no version is named. */
const assumedVersion = '2025-03-26'

/** The result of `server/discover`; without versions it is none, and is left as it is. */
export function readDiscover(result: JsonObject): JsonObject {
  if (!Array.isArray(result['supportedVersions'])) return result
  const { capabilities, instructions, _meta: meta, ...others } = withoutNulls(result)
  return {
    resultType: 'complete',
    ...others,
    capabilities: readCapabilities(capabilities),
    ...(typeof instructions === 'string' ? { instructions } : {}),
    ...(isJsonObject(meta) ? { _meta: meta } : {}),
  }
}

/** A list or `true` in place of a capability's object declares it, without details. */
function readCapabilities(declared: Json | undefined): JsonObject {
  const read: JsonObject = {}
  if (!isJsonObject(declared)) return read
  for (const [name, value] of Object.entries(declared)) {
    if (value === null || value === false) continue
    const forms = [value, ...(isJsonObject(value) ? [withoutNulls(value)] : []), {}]
    const known = forms.find((form) => isSpecType.ServerCapabilities({ [name]: form }))
    if (known !== undefined) read[name] = known
  }
  return read
}

export function withoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))
}

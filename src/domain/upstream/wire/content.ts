/**
 * Reads messages and results of foreign servers into the shapes of MCP, which clients check. Null is absent; what no
 * shape fits is kept as JSON text.
 */
import { isSpecType } from '@modelcontextprotocol/client'
import { asText, isJsonObject, type Json, type JsonObject, writeJson } from '../../../core/json.ts'
import { textResult, type ContentBlock, type ToolResult } from '../../../core/content.ts'

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

/** The result of `tools/call`, whatever its size. */
export function readToolResult(raw: Json): ToolResult {
  if (!isJsonObject(raw)) return { content: readContent(raw), isError: false }
  const { content, structuredContent, isError, _meta: meta, resultType: _, ...others } = raw
  const isBare = (content ?? null) === null && (structuredContent ?? null) === null
  const rest = isBare ? withoutNulls(others) : {}
  return {
    content: Object.keys(rest).length > 0 ? textResult(writeJson(rest)).content : readContent(content),
    ...(structuredContent === undefined ? {} : { structuredContent }),
    isError: isError === true || isError === 'true' || isError === 1,
    ...(isJsonObject(meta) && Object.keys(meta).length > 0 ? { _meta: meta } : {}),
  }
}

/** One block, a list of them, or text. */
function readContent(raw: Json | undefined): ContentBlock[] {
  const given = Array.isArray(raw) ? raw : [raw ?? null]
  return given.filter((one) => one !== null).map(readBlock)
}

function readBlock(raw: Json): ContentBlock {
  const forms = isJsonObject(raw) ? [raw, withoutNulls(raw), bareBlock(raw)] : []
  const known = forms.find((form) => isSpecType.ContentBlock(form))
  return (known as ContentBlock | undefined) ?? { type: 'text', text: asText(raw) }
}

/** Only the members that its type needs. */
function bareBlock(raw: JsonObject): JsonObject {
  const { type, text, data, mimeType, uri, name } = raw
  switch (type ?? 'text') {
    case 'text':
      return picked({ type: 'text', text })
    case 'resource':
      return isJsonObject(raw['resource'])
        ? { type: 'resource', resource: bareResource(raw['resource']) }
        : {}
    case 'resource_link':
      return picked({ type, uri, name: name ?? uri })
    default:
      return picked({ type, data, mimeType })
  }
}

function bareResource({ uri, mimeType, text, blob }: JsonObject): JsonObject {
  return picked({ uri, mimeType, ...((text ?? null) === null ? { blob } : { text }) })
}

function picked(members: Record<string, Json | undefined>): JsonObject {
  const given = Object.entries(members).filter(([, value]) => value !== undefined && value !== null)
  return Object.fromEntries(given) as JsonObject
}

/** The result of `resources/read` with this URI, which is that of contents without one. */
export function readResourceResult(raw: Json, uri: string): JsonObject {
  const { contents, _meta: meta, ...others } = isJsonObject(raw) ? raw : { contents: raw }
  const given = Array.isArray(contents) ? contents : [contents ?? null]
  return {
    ...withoutNulls(others),
    contents: given.filter((one) => one !== null).map((one) => readResourceContents(one, uri)),
    ...(isJsonObject(meta) ? { _meta: meta } : {}),
  }
}

function readResourceContents(raw: Json, uri: string): JsonObject {
  const named = isJsonObject(raw) ? { ...raw, uri: raw['uri'] ?? uri } : null
  const forms = named ? [named, withoutNulls(named), bareResource(named)] : []
  const known = forms.find(
    (form) => isSpecType.TextResourceContents(form) || isSpecType.BlobResourceContents(form),
  )
  return (known as JsonObject | undefined) ?? { uri, text: asText(raw) }
}

/** The result of `prompts/get`. A message with several blocks becomes several messages. */
export function readPromptResult(raw: Json): JsonObject {
  const { messages, description, _meta: meta, ...others } = isJsonObject(raw) ? raw : { messages: raw }
  const given = Array.isArray(messages) ? messages : [messages ?? null]
  return {
    ...withoutNulls(others),
    ...(typeof description === 'string' ? { description } : {}),
    messages: given.filter((one) => one !== null).flatMap(readPromptMessage),
    ...(isJsonObject(meta) ? { _meta: meta } : {}),
  }
}

function readPromptMessage(raw: Json): JsonObject[] {
  const { role, content } = isJsonObject(raw) && 'content' in raw ? raw : { content: raw }
  const spoken = role === 'assistant' ? role : 'user'
  return readContent(content).map((block) => ({ role: spoken, content: block as unknown as JsonObject }))
}

/** The result of `completion/complete`: at most 100 texts. */
export function readCompletion(raw: Json): JsonObject {
  const given = isJsonObject(raw) ? raw['completion'] : null
  const { values, total, hasMore }: JsonObject = isJsonObject(given) ? given : {}
  const texts = Array.isArray(values) ? values.filter((one) => one !== null).map(asText) : []
  return {
    completion: {
      values: texts.slice(0, 100),
      ...(typeof total === 'number' && Number.isSafeInteger(total) ? { total } : {}),
      ...(typeof hasMore === 'boolean' ? { hasMore } : {}),
    },
  }
}

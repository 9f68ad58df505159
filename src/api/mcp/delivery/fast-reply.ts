/**
 * A plain tools/call, recognised and answered as the SDK would: one JSON-RPC message with a name and arguments, whose
 * headers say the same as its body. Pure.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  classifyInboundRequest,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
  SERVER_INFO_META_KEY,
} from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject, writeJson, type Json } from '../../../core/json.ts'
import { acceptsStream, modernVersion, type McpRequest } from '../http/mcp-request.ts'
import { declaresTasks, type ToolsCallResult } from './tasks.ts'
import type { WholeReply } from '../http/node-http.ts'

/** A request that the SDK would pass to the handler of tools/call as it is. */
export interface PlainCall {
  era: 'modern' | 'legacy'
  id: string | number
  name: string
  arguments: JsonObject | undefined
  /** Protocol version, client and capabilities, as a modern request declares them. */
  envelope: JsonObject | null
}

const messageKeys = ['jsonrpc', 'id', 'method', 'params']
const paramKeys = ['name', 'arguments', '_meta']
const envelopeKeys = [PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY]
const method = 'tools/call'

/** The call, or null for a request that the SDK has to serve. */
export function plainCallOf({ http, body }: Pick<McpRequest, 'http' | 'body'>): PlainCall | null {
  if (http.method !== 'POST' || http.headers['content-type'] !== 'application/json') return null
  if (!isJsonObject(body) || !hasOnly(body, messageKeys)) return null
  const { jsonrpc, id, params } = body
  if (jsonrpc !== '2.0' || body['method'] !== method || !isId(id)) return null
  if (!isJsonObject(params) || !hasOnly(params, paramKeys)) return null
  const { name, arguments: args, _meta: meta } = params
  if (typeof name !== 'string' || !isArguments(args)) return null
  const call = { id, name, arguments: args }
  if (meta === undefined) return isPlainLegacy(http) ? { ...call, era: 'legacy', envelope: null } : null
  if (!isJsonObject(meta) || !namesCall(http, name) || !isPlainEnvelope(meta)) return null
  return { ...call, era: 'modern', envelope: meta }
}

function hasOnly(value: JsonObject, keys: readonly string[]): boolean {
  return Object.keys(value).every((key) => keys.includes(key))
}

function isId(id: unknown): id is string | number {
  return typeof id === 'string' || Number.isSafeInteger(id)
}

/** The SDK copies arguments, which a member of this name would not survive. */
function isArguments(value: unknown): value is JsonObject | undefined {
  return value === undefined || (isJsonObject(value) && !Object.hasOwn(value, '__proto__'))
}

const legacyVersions = SUPPORTED_PROTOCOL_VERSIONS.filter((version) => version < modernVersion)

/** A caller without a session that wants no stream: nothing but the response can be sent to it. */
function isPlainLegacy(http: McpRequest['http']): boolean {
  const { 'mcp-session-id': session, 'mcp-protocol-version': version } = http.headers
  if (session !== undefined || acceptsStream({ http })) return false
  return version === undefined || legacyVersions.includes(String(version))
}

/** Whether the headers that a modern request must have name this call. An encoded name is the SDK's to decode. */
function namesCall({ headers }: McpRequest['http'], name: string): boolean {
  return (
    headers['mcp-protocol-version'] === modernVersion &&
    headers['mcp-method'] === method &&
    headers['mcp-name'] === name &&
    !name.startsWith('=?')
  )
}

/** Envelopes that the SDK accepts, as JSON. A client sends the same one with each request. */
const accepted = new Set<string>()
const maxAccepted = 1000
/** The longest envelope that is remembered, in characters. */
const maxLength = 2000

/** An envelope that the SDK accepts, and with which a call is neither a task nor followed by notifications. */
function isPlainEnvelope(meta: JsonObject): boolean {
  if (!hasOnly(meta, envelopeKeys) || meta[PROTOCOL_VERSION_META_KEY] !== modernVersion) return false
  if (declaresTasks(meta)) return false
  const text = writeJson(meta)
  if (accepted.has(text)) return true
  if (text.length > maxLength || !isAccepted(meta)) return false
  if (accepted.size >= maxAccepted) accepted.clear()
  accepted.add(text)
  return true
}

function isAccepted(_meta: JsonObject): boolean {
  const body = { jsonrpc: '2.0', id: 1, method, params: { name: 'any', _meta } }
  return classifyInboundRequest({ httpMethod: 'POST', body }).kind === 'modern'
}

const resultKeys = ['content', 'structuredContent', 'isError', '_meta']
const headers = { 'content-type': 'application/json' }

/** The reply with this result; null when the SDK has to check and write it: only texts are written here. */
export function plainReply(
  { era, id }: Pick<PlainCall, 'era' | 'id'>,
  result: ToolsCallResult,
  serverInfo: object,
): WholeReply | null {
  if (!isPlain(result)) return null
  const { content, structuredContent, isError, _meta } = result
  // The keys have the order in which the SDK writes them.
  const own = {
    content: content.map(({ text }) => ({ type: 'text', text })),
    ...(structuredContent === undefined ? {} : { structuredContent }),
    isError,
    ...(era === 'modern' ? { resultType: 'complete' } : {}),
  }
  const info = era === 'modern' ? { [SERVER_INFO_META_KEY]: serverInfo } : {}
  const written = _meta
    ? { _meta: { ..._meta, ...info }, ...own }
    : { ...own, ...(era === 'modern' ? { _meta: info } : {}) }
  return { status: 200, headers, body: writeJson({ result: written, jsonrpc: '2.0', id }) }
}

interface PlainResult {
  content: { type: 'text'; text: string }[]
  structuredContent?: Json
  isError: boolean
  _meta?: Record<string, unknown>
}

function isPlain(result: object): result is PlainResult {
  const { content, structuredContent, isError, _meta } = result as Record<string, unknown>
  return (
    Object.keys(result).every((key) => resultKeys.includes(key)) &&
    typeof isError === 'boolean' &&
    Array.isArray(content) &&
    content.every(isText) &&
    (structuredContent === undefined || isOwnObject(structuredContent)) &&
    (_meta === undefined || (isOwnObject(_meta) && Object.keys(_meta).every(isOurs)))
  )
}

function isText(block: unknown): boolean {
  if (!isJsonObject(block)) return false
  return block['type'] === 'text' && typeof block['text'] === 'string' && Object.keys(block).length === 2
}

/** The SDK copies objects, which a member of this name would not survive. */
function isOwnObject(value: unknown): value is object {
  return isJsonObject(value) && !Object.hasOwn(value, '__proto__')
}

/** The SDK knows other members of `_meta`, and checks them. */
function isOurs(key: string): boolean {
  return key.startsWith('gatehouse/')
}

/** The response to a plain tools/call as the SDK would write it. Pure. */
import { SERVER_INFO_META_KEY } from '@modelcontextprotocol/server'
import { isJsonObject, type Json, writeJson } from '../../../core/json.ts'
import type { WholeReply } from '../http/node-http.ts'
import type { PlainCall } from './plain-call.ts'
import type { ToolsCallResult } from './tasks.ts'

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

/**
 * tools/list without the SDK: its JSON is kept for each surface, and the whole response of a repeated request. An
 * agent may have a thousand tools.
 */
import type { Tool } from '@modelcontextprotocol/server'
import { isJsonObject, writeJson, type JsonObject } from '../../../core/json.ts'
import type { BridgeSurface } from '../../../domain/bridge/index.ts'
import type { AgentRequest } from '../http/agent-request.ts'
import type { Reply, WholeReply } from '../http/node-http.ts'
import { listTools } from './tools-list.ts'
import { BoundedMap } from '../../../core/bounded.ts'
import type { McpRequest } from '../http/mcp-request.ts'

const placeholderName = 'the_list_goes_here'
const placeholder = /\[\{[^[\]]*"the_list_goes_here"[^[\]]*\}\]/
const texts = { modern: new WeakMap<BridgeSurface, string>(), legacy: new WeakMap<BridgeSurface, string>() }

/** Whether a request is a tools/list on its own, not in a batch. */
export function isToolsList(body: unknown): boolean {
  return isJsonObject(body) && body['method'] === 'tools/list'
}

/** The tools of a response until `withToolsList` replaces them. */
export function placeholderTools(): Tool[] {
  return [{ name: placeholderName, inputSchema: { type: 'object' } }]
}

/** The response with the list in place of the placeholder; any other response unchanged. */
export async function withToolsList(
  response: Response,
  request: Pick<AgentRequest, 'surface' | 'era'>,
): Promise<Reply> {
  if (!response.headers.get('content-type')?.startsWith('application/json')) return { response }
  const text = await response.text()
  // A replacer function, because "$" in a replacement string has a special meaning.
  return { response, text: text.replace(placeholder, () => listText(request)) }
}

function listText({ surface, era }: Pick<AgentRequest, 'surface' | 'era'>): string {
  const cached = texts[era].get(surface)
  if (cached !== undefined) return cached
  const text = writeJson(listTools({ surface, era }))
  texts[era].set(surface, text)
  return text
}

interface Kept {
  headers: Record<string, string>
  before: string
  after: string
}

/** Different requests of one surface that are kept: clients differ in their `_meta`. */
const maxKept = 8
/** The longest request that is kept, in characters. */
const maxKeyLength = 2000

const kept = new WeakMap<BridgeSurface, Map<string, Kept>>()

type ListRequest = Pick<McpRequest, 'http' | 'body'>

/** The response to the request, when an equal one was kept for this surface; else null. */
export function recallList(surface: BridgeSurface, request: ListRequest): WholeReply | null {
  const known = kept.get(surface)
  const asked = known && askedOf(request)
  const found = asked && known.get(asked.key)
  return found ? { status: 200, headers: found.headers, body: found.before + asked.id + found.after } : null
}

/** Keeps the response to a request that the SDK has served. Returns the reply unchanged. */
export function rememberList(surface: BridgeSurface, request: ListRequest, reply: Reply): Reply {
  if ('body' in reply) return reply
  const { response, text } = reply
  const asked = askedOf(request)
  if (!asked || text === undefined || response.status !== 200) return reply
  const parts = text.split(`"id":${asked.id}`)
  // When the list has the same text, its place is not the only one.
  if (parts.length !== 2) return reply
  const all = kept.get(surface) ?? new BoundedMap<string, Kept>(maxKept)
  const headers = Object.fromEntries(response.headers)
  all.set(asked.key, { headers, before: `${parts[0]}"id":`, after: parts[1]! })
  kept.set(surface, all)
  return reply
}

/** What the response depends on, and the id as JSON; null when the request is not kept. */
function askedOf({ http, body }: ListRequest): { key: string; id: string } | null {
  if (http.method !== 'POST' || !isToolsList(body) || !isJsonObject(body)) return null
  const { id, ...message } = body as JsonObject
  if (typeof id !== 'string' && typeof id !== 'number') return null
  const headers = Object.entries(http.headers).filter(([name]) => isRead(name))
  const key = writeJson([headers, message])
  return key.length <= maxKeyLength ? { key, id: writeJson(id) } : null
}

/** The headers that the SDK or this module reads. */
function isRead(name: string): boolean {
  return name === 'accept' || name === 'content-type' || name.startsWith('mcp-')
}

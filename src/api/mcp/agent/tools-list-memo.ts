/**
 * Repeated tools/list requests without the SDK. The SDK's response to a modern tools/list depends on the surface, the
 * headers below and the message alone. So a response is kept with the surface that it lists, and a request that differs
 * from an earlier one in its id only gets the same bytes with its own id.
 */
import { BoundedMap } from '../../../core/bounded-map.ts'
import { isJsonObject, type JsonObject, writeJson } from '../../../core/json.ts'
import type { BridgeSurface } from '../../../domain/bridge/index.ts'
import type { McpRequest } from '../http/mcp-request.ts'
import type { Reply, WholeReply } from '../http/node-http.ts'
import { isToolsList } from './tools-list-cache.ts'

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

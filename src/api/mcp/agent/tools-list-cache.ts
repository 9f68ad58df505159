/**
 * Caches the JSON of tools/list for each surface. An agent may have a thousand tools, and building, validating and
 * serializing them costs more than the rest of the request. So the SDK responds with one placeholder tool, and the
 * cached text replaces it before the response is written.
 */
import type { Tool } from '@modelcontextprotocol/server'
import { isJsonObject, writeJson } from '../../../core/json.ts'
import type { BridgeSurface } from '../../../domain/bridge/index.ts'
import type { AgentRequest } from '../http/agent-request.ts'
import type { Reply } from '../http/node-http.ts'
import { listTools } from './tools-list.ts'

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

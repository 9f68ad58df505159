/**
 * The text of a list, made once for each surface. An agent may have a thousand tools: to build, check and write them
 * anew for each request would cost more than everything else. The SDK answers with one tool in their place, so that
 * the protocol stays its business, and the text is put in before the answer leaves.
 */
import type { Tool } from '@modelcontextprotocol/server'
import { isJsonObject } from '../../core/json.ts'
import type { BridgeSurface } from '../../domain/bridge/index.ts'
import type { Answer } from './adapter.ts'
import { listTools } from './tools-list.ts'
import type { Visit } from './visit.ts'

const placeName = 'the_list_goes_here'
const place = /\[\{[^[\]]*"the_list_goes_here"[^[\]]*\}\]/
const texts = { modern: new WeakMap<BridgeSurface, string>(), legacy: new WeakMap<BridgeSurface, string>() }

/** Whether a request asks for the list and for nothing else. */
export function asksForList(body: unknown): boolean {
  return isJsonObject(body) && body['method'] === 'tools/list'
}

/** What stands in the answer until the text is put in. */
export function placeOfList(): Tool[] {
  return [{ name: placeName, inputSchema: { type: 'object' } }]
}

/** The answer with the list in its place; any other answer as it is. */
export async function withList(response: Response, visit: Pick<Visit, 'surface' | 'era'>): Promise<Answer> {
  if (!response.headers.get('content-type')?.startsWith('application/json')) return { response }
  const text = await response.text()
  // A function, for "$" in a description would mean something in a text.
  return { response, text: text.replace(place, () => textOf(visit)) }
}

function textOf({ surface, era }: Pick<Visit, 'surface' | 'era'>): string {
  const known = texts[era].get(surface)
  if (known !== undefined) return known
  const text = JSON.stringify(listTools({ surface, era }))
  texts[era].set(surface, text)
  return text
}

/** Reading a resource or prompt of an upstream: a call like any other, of an action that no model and no list has. Pure. */
import type { JsonObject } from '../../../core/json.ts'
import { fitsPattern } from '../../access/index.ts'
import type { Callable } from '../callable.ts'
import { runtimeName } from '../names.ts'
import type { McpToolConfig, Tool } from '../tool.ts'

/** What of an upstream is relayed beside its tools. */
export type Relayed = 'resources' | 'prompts'

/** No tool of an upstream can have such a name: the protocol allows no colon. */
export const readActions = { resources: 'mcp:resources/read', prompts: 'mcp:prompts/get' } as const
export type ReadAction = (typeof readActions)[Relayed]

export function isReadAction(action: string | null): action is ReadAction {
  return action === readActions.resources || action === readActions.prompts
}

const text = { type: 'string', maxLength: 8192 }
const schemas: Record<Relayed, JsonObject> = {
  resources: { type: 'object', properties: { uri: text }, required: ['uri'], additionalProperties: false },
  prompts: {
    type: 'object',
    properties: { name: text, arguments: { type: 'object', additionalProperties: { type: 'string' } } },
    required: ['name'],
    additionalProperties: false,
  },
}

/** Whether the operator lets this resource (by URI) or prompt (by its name there) through. Off unless it is named. */
export function isRelayed(mcp: McpToolConfig | null | undefined, what: Relayed, name: string): boolean {
  const patterns = mcp?.relay?.[what] ?? []
  if (patterns.includes('*')) return true
  // A pattern speaks of a place: no step in the address may lead out of it.
  if (what === 'resources' && /(^|[/\\])(\.|%2e){1,2}([/\\?#]|$)|%2f|%5c/i.test(name)) return false
  return patterns.some((pattern) => fitsPattern(pattern, name))
}

/** Whether a template can make a resource that is let through: up to the first free place both say the same. */
export function isTemplateRelayed(mcp: McpToolConfig | null | undefined, uriTemplate: string): boolean {
  const fixed = uriTemplate.split('{', 1)[0]!
  return (mcp?.relay?.resources ?? []).some((pattern) => {
    const start = pattern.split('*', 1)[0]!
    return start.startsWith(fixed) || fixed.startsWith(start)
  })
}

/** The action as a callable, behind the gate of the whole tool; null where nothing of the kind is relayed. */
export function readCallable(tool: Tool, action: string | null): Callable | null {
  const what =
    action === readActions.resources ? 'resources' : action === readActions.prompts ? 'prompts' : null
  if (what === null || !tool.mcp?.relay?.[what].length) return null
  return {
    ...tool,
    runtimeName: runtimeName([tool.name, what === 'resources' ? 'resources_read' : 'prompts_get']),
    action,
    definitionHash: null,
    inputSchema: schemas[what],
    outputSchema: null,
    presetParameters: {},
    // By the protocol it changes nothing.
    idempotent: true,
  }
}

/** Reading a resource or prompt of an upstream is a call of an action that no model and no tool list contains. Pure. */
import type { JsonObject } from '../../../core/json.ts'
import { fitsPattern } from '../../access/index.ts'
import type { Callable } from '../callable.ts'
import { runtimeName } from '../names.ts'
import type { Tool } from '../tool.ts'
import type { McpToolConfig } from './mcp-config.ts'

/** What an upstream offers besides tools that can be relayed. */
export type Relayed = 'resources' | 'prompts'

/** Cannot collide with tool names of upstreams: MCP allows no colon in them. */
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

/**
 * Whether the operator's patterns allow this resource (by URI) or prompt (by its upstream name). Without patterns:
 * false.
 */
export function isRelayed(mcp: McpToolConfig | null | undefined, what: Relayed, name: string): boolean {
  const patterns = mcp?.relay?.[what] ?? []
  if (patterns.includes('*')) return true
  // A pattern names a folder: no `.` or `..` segment in the URI may leave it.
  if (what === 'resources' && /(^|[/\\])(\.|%2e){1,2}([/\\?#]|$)|%2f|%5c/i.test(name)) return false
  return patterns.some((pattern) => fitsPattern(pattern, name))
}

/** Whether the template can yield a relayed resource: the fixed starts of template and pattern agree. */
export function isTemplateRelayed(mcp: McpToolConfig | null | undefined, uriTemplate: string): boolean {
  const fixed = uriTemplate.split('{', 1)[0]!
  return (mcp?.relay?.resources ?? []).some((pattern) => {
    const start = pattern.split('*', 1)[0]!
    return start.startsWith(fixed) || fixed.startsWith(start)
  })
}

/**
 * The read action as a callable, behind the gate of the whole tool; null when the operator relays nothing of this kind.
 */
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
    // Reads change nothing, by the protocol.
    idempotent: true,
  }
}

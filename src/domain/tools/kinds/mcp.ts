/** Runs a tool of an upstream, or reads a resource or prompt of it. What the upstream returns is the result. */
import { type JsonObject, asText, isJsonObject } from '../../../core/json.ts'
import { fitsPattern, type Services } from '../../access/index.ts'
import type { Callable, Tool } from '../callable.ts'
import { runtimeName } from '../fields.ts'
import type { McpToolConfig } from './mcp-config.ts'
import { errorResult } from '../../../core/content.ts'
import type { TraceContext } from '../../../core/telemetry/unit.ts'
import {
  callUpstream,
  getPrompt,
  readResource,
  type InputRequired,
  type Relay,
  type UpstreamProgress,
  type UpstreamRow,
} from '../../upstream/index.ts'
import type { SendOutcome } from '../outcome.ts'

/** What an upstream offers besides tools that can be relayed. */
export type RelayedKind = 'resources' | 'prompts'

/** Cannot collide with tool names of upstreams: MCP allows no colon in them. */
export const readActions = { resources: 'mcp:resources/read', prompts: 'mcp:prompts/get' } as const
export type ReadAction = (typeof readActions)[RelayedKind]

export function isReadAction(action: string | null): action is ReadAction {
  return action === readActions.resources || action === readActions.prompts
}

const text = { type: 'string', maxLength: 8192 }
const schemas: Record<RelayedKind, JsonObject> = {
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
export function isRelayed(mcp: McpToolConfig | null | undefined, what: RelayedKind, name: string): boolean {
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

export interface McpRun {
  toolId: string
  projectId: string
  requestedBy: string
  /** For whom the requester acts; null for itself. */
  actsFor: string | null
  /** The tool's name at the upstream. */
  action: string
  args: JsonObject
  callId: string
  /** Limit in milliseconds, connecting included. */
  timeoutMs: number
  signal: AbortSignal
  /** Called just before the call is sent; nothing is sent when it returns false. */
  mayStart(delayMs?: number): boolean
  /** Sent in `_meta`. */
  trace?: TraceContext | undefined
  caller: CallerChannel | null
  /** The upstream's row, if it was read a moment ago. */
  row: UpstreamRow | null
  /** The server that the call is meant for. */
  server: Pick<McpToolConfig, 'url' | 'headers'>
}

/** The connection to an MCP client that waits for the call, for progress and requests while the call runs. */
export interface CallerChannel {
  relay: Relay | null
  onProgress?(progress: UpstreamProgress): void
}

/** Throws only errors of the database, before anything is sent. Without a caller, input that the upstream requests is an error. */
export async function runMcpTool(
  services: Services,
  run: McpRun,
): Promise<SendOutcome | { inputRequired: InputRequired }> {
  if (isReadAction(run.action)) return runRead(services, run, run.action)
  const { toolId, action, args, caller, ...more } = run
  const onProgress = caller?.onProgress
  return callUpstream(services, {
    ...more,
    id: toolId,
    tool: action,
    arguments: args,
    relay: caller?.relay ?? null,
    ...(onProgress ? { onProgress: (progress: UpstreamProgress) => onProgress(progress) } : {}),
  })
}

/** Reads a resource or prompt. The whole result of the protocol is the structured content. */
async function runRead(
  services: Services,
  run: McpRun,
  action: ReadAction,
): Promise<SendOutcome | { inputRequired: InputRequired }> {
  const { toolId: id, args, caller, ...more } = run
  const request = { ...more, id, relay: caller?.relay ?? null }
  const reading = await (action === readActions.resources
    ? readResource(services, { ...request, uri: asText(args['uri']) })
    : getPrompt(services, {
        ...request,
        name: asText(args['name']),
        ...(args['arguments'] ? { arguments: args['arguments'] as Record<string, string> } : {}),
      }))
  if ('inputRequired' in reading) return reading
  if ('result' in reading)
    return {
      result: { content: [], structuredContent: reading.result, isError: false },
      sent: true,
      lost: false,
    }
  const { code, message, rpcCode, rpcData, loginOf } = reading.fault
  const facts = rpcCode === null ? {} : { rpcCode, ...(isJsonObject(rpcData) ? { rpcData } : {}) }
  const result = errorResult(code, message, facts)
  return { result, sent: loginOf === undefined, lost: false, ...(loginOf && { loginOf }) }
}

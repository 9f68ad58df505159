/** Runs a tool of an upstream. What the upstream returns is the result. */
import { errorResult } from '../../../core/content.ts'
import { asText, isJsonObject, type JsonObject } from '../../../core/json.ts'
import type { TraceContext } from '../../../core/telemetry/trace-context.ts'
import type { Services } from '../../access/index.ts'
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
import type { McpToolConfig } from './mcp-config.ts'
import { isReadAction, readActions, type ReadAction } from './mcp-reads.ts'

export interface McpRun {
  toolId: string
  projectId: string
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
  const { code, message, rpcCode, rpcData } = reading.fault
  const facts = rpcCode === null ? {} : { rpcCode, ...(isJsonObject(rpcData) ? { rpcData } : {}) }
  return { result: errorResult(code, message, facts), sent: true, lost: false }
}

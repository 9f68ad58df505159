/** Runs a tool of a foreign MCP server: the upstream is asked, and whatever it says is the result. */
import { errorResult } from '../../../core/content.ts'
import { asText, isJsonObject, type JsonObject } from '../../../core/json.ts'
import type { Services } from '../../access/index.ts'
import {
  callUpstream,
  getPrompt,
  readResource,
  type InputRequired,
  type Relay,
  type UpstreamProgress,
} from '../../upstream/index.ts'
import type { Sending } from '../outcome.ts'
import { isReadAction, readActions, type ReadAction } from './mcp-reads.ts'

export interface McpRun {
  toolId: string
  projectId: string
  /** As the upstream calls it. */
  action: string
  args: JsonObject
  callId: string
  /** Milliseconds, connecting included. */
  timeoutMs: number
  signal: AbortSignal
  /** Asked when the call is about to leave; with false nothing does. */
  mayStart(): boolean
  caller: CallerChannel | null
}

/** Somebody who waits for the call over MCP, and can hear and be asked while it runs. */
export interface CallerChannel {
  relay: Relay | null
  onProgress?(progress: UpstreamProgress): void
}

/** Never throws. What the upstream asks back is told only when there is a caller who can answer. */
export async function runMcpTool(
  services: Services,
  run: McpRun,
): Promise<Sending | { inputRequired: InputRequired }> {
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

/** Reads a resource or prompt. What the protocol answers is the structured content, whole. */
async function runRead(
  services: Services,
  run: McpRun,
  action: ReadAction,
): Promise<Sending | { inputRequired: InputRequired }> {
  const { toolId: id, projectId, timeoutMs, signal, mayStart, args, caller } = run
  const asking = { id, projectId, timeoutMs, signal, mayStart, relay: caller?.relay ?? null }
  const reading = await (action === readActions.resources
    ? readResource(services, { ...asking, uri: asText(args['uri']) })
    : getPrompt(services, {
        ...asking,
        name: asText(args['name']),
        ...(args['arguments'] ? { arguments: args['arguments'] as Record<string, string> } : {}),
      }))
  if ('inputRequired' in reading) return reading
  if ('result' in reading)
    return { result: { content: [], structuredContent: reading.result, isError: false }, lost: false }
  const { code, message, rpcCode, rpcData } = reading.fault
  const more = rpcCode === null ? {} : { rpcCode, ...(isJsonObject(rpcData) ? { rpcData } : {}) }
  return { result: errorResult(code, message, more), lost: false }
}

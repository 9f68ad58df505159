/** Runs a tool of a foreign MCP server: the upstream is asked, and whatever it says is the result. */
import type { JsonObject } from '../../../core/json.ts'
import type { House } from '../../access/index.ts'
import { callUpstream, type InputRequired, type Relay, type UpstreamProgress } from '../../upstream/index.ts'
import type { Sending } from '../outcome.ts'

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
  caller: Caller | null
}

/** Somebody who waits for the call over MCP, and can hear and be asked while it runs. */
export interface Caller {
  relay: Relay | null
  onProgress?(progress: UpstreamProgress): void
}

/** Never throws. What the upstream asks back is told only when there is a caller who can answer. */
export async function runMcpTool(
  house: House,
  run: McpRun,
): Promise<Sending | { inputRequired: InputRequired }> {
  const { toolId, action, args, caller, ...more } = run
  const onProgress = caller?.onProgress
  return callUpstream(house, {
    ...more,
    id: toolId,
    tool: action,
    arguments: args,
    relay: caller?.relay ?? null,
    ...(onProgress ? { onProgress: (progress: UpstreamProgress) => onProgress(progress) } : {}),
  })
}

/** What the parts of a tools/call pass to each other. */
import type { ServerContext } from '@modelcontextprotocol/server'
import type { BridgeEntry } from '../../../domain/bridge/index.ts'
import type { ToolCall } from '../../../domain/tool-calls/index.ts'
import type { TaskPolicy } from '../../../domain/tools/index.ts'
import type { AgentRequest } from '../http/agent-request.ts'
import type { SendServerRequest } from '../http/server-requests.ts'

/** What the handler of tools/call reads of a request's protocol: the SDK's context, or that of a plain call. */
export interface CallContext {
  mcpReq: Pick<ServerContext['mcpReq'], '_meta' | 'envelope' | 'inputResponses' | 'requestState' | 'notify'>
}

/** One tools/call request. */
export interface ToolsCall {
  request: AgentRequest
  context: CallContext
  send: SendServerRequest
  /** What was called. */
  entry: BridgeEntry
  /** Of name and arguments: a requestState is valid only with the request that it was issued for. */
  requestHash: () => string
  /** How often the client has come back with a requestState. */
  round: number
  /** The caller can find the call again by its own key or id, so its disconnect does not cancel it. */
  resumable: boolean
}

/** A committed tool call or generation, and its execution when this process runs it for the caller. */
export interface StartedCall {
  id: string
  running: Promise<ToolCall> | null
}

/** Whether calls of the entry may, must or must not be tasks. */
export function taskModeOf(entry: BridgeEntry): TaskPolicy['mode'] {
  return entry.kind === 'tool' ? entry.task.mode : 'OPTIONAL'
}

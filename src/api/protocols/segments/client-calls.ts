/** Calls as protocols show them to clients. Pure. */
import type { JsonObject } from '../../../core/json.ts'
import type { ToolCall } from '../../../domain/tool-calls/index.ts'
import { masked } from '../../../domain/tools/index.ts'

/** The arguments of a call for the client, whole while it waits for the client to run it. */
export function argumentsForClient(call: ToolCall): JsonObject {
  const own = call.arguments ?? {}
  return call.status === 'AWAITING_CLIENT' ? own : masked(own, call.masked)
}

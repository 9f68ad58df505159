/** Calls as protocols show them to clients. Pure. */
import type { JsonObject } from '../../../core/json.ts'
import type { ToolCall } from '../../../domain/tool-calls/index.ts'
import { masked } from '../../../domain/tools/index.ts'

/** The arguments of a call for those who only watch it. */
export function argumentsToShow(call: ToolCall): JsonObject {
  return masked(call.arguments ?? {}, call.masked)
}

/** The arguments of a call for the client, whole while it waits for the client to run it. */
export function argumentsForClient(call: ToolCall): JsonObject {
  return call.status === 'AWAITING_CLIENT' ? (call.arguments ?? {}) : argumentsToShow(call)
}

/** The result of a call as text; content that is none is named by its type. */
export function resultText({ result }: ToolCall): string {
  const content = result?.content ?? []
  return content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n')
}

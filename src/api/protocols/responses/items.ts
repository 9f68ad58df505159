/** Output items of a response, in the shapes of OpenAI's Responses API. Pure. */
import { type JsonObject, writeJson } from '../../../core/json.ts'
import { shownArguments, type Approval } from '../../../domain/approvals/index.ts'
import { hasOutput, type ToolCall } from '../../../domain/tool-calls/index.ts'
import { argumentsForClient, argumentsToShow, resultText, questionId } from '../segments/presentation.ts'

/** Calls that run here are shown as those of a remote server, which clients show and never run. */
export const serverLabel = 'gatehouse'

export type Item = JsonObject & { id: string; type: string }

/** The id of a call in an item id that was derived from it; null for any other text. */
export function callOfItem(id: string): string | null {
  const body = /^(?:fc|mcp)_([0-9a-z]{24})$/.exec(id)?.[1]
  return body ? `call_${body}` : null
}

export function messageItem(id: string, text: string, status: string): Item {
  const content = status === 'in_progress' ? [] : [textPart(text)]
  return { id, type: 'message', role: 'assistant', status, content }
}

export function textPart(text: string): JsonObject {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

export function functionCall(call: ToolCall): Item {
  return {
    id: `fc_${call.id.slice('call_'.length)}`,
    type: 'function_call',
    call_id: call.id,
    name: call.runtimeName,
    arguments: writeJson(argumentsForClient(call)),
    status: 'completed',
  }
}

export function mcpCall(call: ToolCall): Item {
  const text = resultText(call)
  const failed = !hasOutput(call)
  return {
    id: `mcp_${call.id.slice('call_'.length)}`,
    type: 'mcp_call',
    server_label: serverLabel,
    name: call.runtimeName,
    arguments: writeJson(argumentsToShow(call)),
    output: failed ? null : text,
    error: failed ? text || call.status : null,
    status: failed ? 'failed' : 'completed',
    approval_request_id: call.approvalId,
  }
}

export function approvalRequest(approval: Approval): Item {
  return {
    id: questionId(approval),
    type: 'mcp_approval_request',
    server_label: serverLabel,
    name: approval.runtimeName,
    arguments: writeJson(shownArguments(approval)),
  }
}

/** A validated and permitted call without a row yet: the input of its gates, and the identity of a repeat. */
import { hashJson, type JsonObject } from '../../core/json.ts'
import type { Basis } from '../../store/db/proof.ts'
import type { Attachment } from '../files/index.ts'
import { judgeGate, type GatePolicy, type Requirement } from '../gates/index.ts'
import {
  policiesOf,
  withAttachments,
  type Callable,
  type CallerChannel,
  type Prepared,
} from '../tools/index.ts'
import { callbackSecretShape, type Callback } from '../followers/index.ts'
import { part } from '../../core/shapes.ts'
import { ToolCall } from '../tool-calls/index.ts'

/** The agent through which a call came over the bridge. */
export interface Via {
  agentId: string
  /** Can only make the tool's own gate stricter. */
  agentGate: GatePolicy | null
  threadId: string | null
}

/** A validated and permitted call. */
export interface CallRequest {
  tool: Callable
  prepared: Extract<Prepared, { ok: true }>
  attachments: readonly Attachment[] | null
  /** A repeat with the same key and request joins the first call; with another request it is CONFLICT. */
  idempotency: { operation: string; key: string; request: unknown } | null
  /** Where the events of the call are sent. */
  callback?: Callback | null | undefined
  /** Null for a direct call. */
  via: Via | null
  /**
   * What the request was checked against. When the statement that begins the call finds that it is not so any more, nothing
   * is written, and `createCall` throws StaleReadError.
   */
  basis: Basis
  /** Receives progress and can be asked for input while the call runs. */
  caller?: CallerChannel | null | undefined
}

/**
 * Hash by which two requests of the same caller over the bridge count as the same one, in whichever session: many clients
 * open one for each call.
 */
export function requestHash({ tool, prepared, attachments }: CallRequest, { agentId }: Via): string {
  // Null stands where earlier releases had the thread of the session.
  return hashJson([agentId, null, tool.runtimeName, prepared.arguments, attachments ?? []])
}

/** The arguments that gates evaluate and people approve, including the attached files. */
export function gateArguments({ prepared, attachments }: CallRequest): JsonObject {
  return withAttachments(prepared.merged, attachments)
}

/** What the gates require before the call may run; null when nothing stops it. */
export function requirementOf(request: CallRequest): Requirement | null {
  const { tool, via } = request
  const policies = policiesOf(tool, via?.agentGate ? [via.agentGate] : [])
  return judgeGate(policies, gateArguments(request), tool.projectId)
}

/** What operations on one call return. */
export const callPayload = part('ToolCallPayload', 'The tool call after the mutation.', {
  toolCall: ToolCall.describe('The tool call after the mutation, with its result if it has one.'),
  callbackSecret: callbackSecretShape,
})

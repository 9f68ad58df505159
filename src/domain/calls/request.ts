/** A call that was checked and is allowed, before it has a row: what its gates judge and what makes a repeat. */
import { hashJson, type JsonObject } from '../../core/json.ts'
import type { Attachment } from '../files/index.ts'
import {
  gateOf,
  judgeGate,
  withAttachments,
  type Callable,
  type CallerChannel,
  type GatePolicy,
  type Prepared,
  type Requirement,
} from '../tools/index.ts'

/** Through which agent a call came over the bridge. */
export interface Via {
  agentId: string
  /** It can only make the tool's own gate stricter. */
  agentGate: GatePolicy | null
  threadId: string | null
}

/** A call that was checked and is allowed. */
export interface CallRequest {
  tool: Callable
  prepared: Extract<Prepared, { ok: true }>
  attachments: readonly Attachment[] | null
  /** A repeat with the same key and request joins; with another request it is a conflict. */
  idempotency: { operation: string; key: string; request: unknown } | null
  /** Null for a direct call. */
  via: Via | null
  /** Who is told of its progress and can be asked while it runs. */
  caller?: CallerChannel | null | undefined
}

/** What makes another request of the same caller over the bridge the same one. */
export function requestHash(
  { tool, prepared, attachments }: CallRequest,
  { agentId, threadId }: Via,
): string {
  return hashJson([agentId, threadId, tool.runtimeName, prepared.arguments, attachments ?? []])
}

/** The arguments that gates judge and people approve, with the attached files. */
export function gateArguments({ prepared, attachments }: CallRequest): JsonObject {
  return withAttachments(prepared.merged, attachments)
}

/** What the gates require before it may run; null when nothing stops it. */
export function requirementOf(request: CallRequest): Requirement | null {
  const { tool, via } = request
  const policies = via?.agentGate ? [gateOf(tool), via.agentGate] : [gateOf(tool)]
  return judgeGate(policies, gateArguments(request))
}

/** A call that has been checked and is allowed, on its way to its row; and what of it is judged, agreed to and repeated. */
import { hashJson, type JsonObject } from '../../core/json.ts'
import type { Attachment } from '../files/index.ts'
import {
  gateOf,
  judgeGate,
  withAttachments,
  type Callable,
  type Caller,
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

/** A call that has been checked and is allowed. */
export interface Order {
  tool: Callable
  prepared: Extract<Prepared, { ok: true }>
  attachments: readonly Attachment[] | null
  /** A repeat with the same key and request joins; with another request it is a conflict. */
  memory: { operation: string; key: string; request: unknown } | null
  /** Null for a direct call. */
  via: Via | null
  /** Who can hear and be asked while it runs. */
  caller?: Caller | null
}

/** What makes another request of the same caller over the bridge the same one. */
export function requestHash({ tool, prepared, attachments }: Order, { agentId, threadId }: Via): string {
  return hashJson([agentId, threadId, tool.runtimeName, prepared.arguments, attachments ?? []])
}

/** What is judged and agreed to. */
export function whole({ prepared, attachments }: Order): JsonObject {
  return withAttachments(prepared.merged, attachments)
}

/** What the gates ask for before it may run; null when nothing holds it back. */
export function requirementOf(order: Order): Requirement | null {
  const { tool, via } = order
  const policies = via?.agentGate ? [gateOf(tool), via.agentGate] : [gateOf(tool)]
  return judgeGate(policies, whole(order))
}

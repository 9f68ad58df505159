/** Drift: between the question and the run the tool may have changed; then nobody has agreed to what would run. */
import { errorResult, type ToolResult } from '../../core/content.ts'
import type { Database } from '../../store/db/database.ts'
import type { Services } from '../access/index.ts'
import {
  currentCallable,
  gateOf,
  judgeGate,
  loadTools,
  maskedPaths,
  prepareCall,
  withAttachments,
  type Callable,
  type GatePolicy,
} from '../tools/index.ts'
import { type ToolCall } from '../tool-calls/index.ts'
import type { Approval, VoidReason } from './approval.ts'
import { newApproval, type NewApproval } from './ask.ts'
import { isDigestOf } from './digest.ts'
import { loadApprovals } from './read.ts'

/** `again` is the new question; null when it cannot be asked any more. */
export interface Drift {
  reason: VoidReason
  /** The tool as it is now. */
  tool: Callable | null
  again: NewApproval | null
  /** What is not shown from now on, in the arguments of the call and in those of the approval; null without a tool. */
  masks: { call: string[][]; approval: string[][] } | null
}

/**
 * Whether an approved call is still what was agreed to: the tool or agent has the same version, its action is defined as
 * it was, and the digest is that of what would run. Null when it is; else the approval must be voided, and asked again
 * when the arguments still fit. `agentGates` are the gates that hold beside the tool's own.
 */
export async function driftOf(
  services: Services,
  call: ToolCall,
  agentGates: readonly GatePolicy[],
): Promise<Drift | null> {
  const [[approval], tool] = await Promise.all([
    loadApprovals(services.db, [call.approvalId!]),
    currentCallable(services, call),
  ])
  if (tool && isSame(services, approval!, tool, call)) return null
  if (!tool) return { reason: 'TOOL_DELETED', tool: null, again: null, masks: null }
  const masks = masksOf(tool, call, approval!)
  const prepared = prepareCall(tool, call.arguments)
  if (!prepared.ok) return { reason: 'TOOL_CHANGED', tool, again: null, masks }
  const merged = withAttachments(prepared.merged, call.attachments)
  const policies = [gateOf(tool), ...agentGates]
  const question = {
    toolCallId: call.id,
    tool,
    merged,
    // Somebody was asked once, so somebody is asked again, also when the new gate would let it pass.
    requirement: judgeGate(policies, merged) ?? approval!.requirement,
    onApprove: approval!.onApprove,
    clientTimeoutMs: approval!.clientTimeoutMs,
    requestedBy: call.requestedBy,
  }
  return { reason: 'TOOL_CHANGED', tool, again: newApproval(services, question), masks }
}

/** What the tool marks now, added to what it marked when the call was proposed: nothing is shown that was hidden. */
function masksOf({ inputSchema }: Callable, call: ToolCall, approval: Approval): Drift['masks'] {
  const { arguments: asked, editedArguments: edited } = approval
  return {
    call: [...(call.masked ?? []), ...maskedPaths(inputSchema, call.arguments)],
    approval: [
      ...(approval.masked ?? []),
      ...[asked, edited].flatMap((args) => maskedPaths(inputSchema, args)),
    ],
  }
}

/** What the call's row says of the new question: which approval, and about which definition of the tool. */
export function questionOf({ tool }: Drift, again: NewApproval) {
  return { approvalId: again.id, toolVersion: tool!.version, definitionHash: tool!.definitionHash }
}

/** Whether the tool is not any more what was asked about. */
export async function isOutdated(db: Database, { toolId, toolVersion }: Approval): Promise<boolean> {
  const [tool] = await loadTools(db, [toolId])
  return tool?.version !== toolVersion
}

function isSame({ masterKey }: Services, approval: Approval, tool: Callable, call: ToolCall): boolean {
  const { requestedBy, requirement, digest } = approval
  if (tool.version !== call.toolVersion) return false
  const prepared = prepareCall(tool, call.arguments)
  if (!prepared.ok) return false
  const merged = withAttachments(prepared.merged, call.attachments)
  return isDigestOf(masterKey, digest, tool, { arguments: merged, requestedBy, requirement })
}

/** What the model or caller is told when an approved call cannot run and cannot be asked again. */
export function driftResult(reason: VoidReason): ToolResult {
  return reason === 'TOOL_DELETED'
    ? errorResult('tool_deleted', 'The tool was deleted after the call was approved; it was not run.')
    : errorResult(
        'tool_changed',
        'The tool was changed after the call was approved, and the arguments do not fit it any more; it was not run.',
      )
}

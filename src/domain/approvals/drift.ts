/**
 * Drift: the tool of an approved call may change before the call runs, in a part that approvals cover. Then the approval does
 * not cover what would run.
 */
import { errorResult, type ToolResult } from '../../core/content.ts'
import type { Database } from '../../store/db/database.ts'
import type { Services } from '../access/index.ts'
import { judgeGate, type GatePolicy } from '../gates/index.ts'
import {
  currentCallable,
  isRunTool,
  loadTools,
  maskedPaths,
  policiesOf,
  prepareCall,
  withAttachments,
  type Callable,
  type ToolVersions,
} from '../tools/index.ts'
import { askAgain, callSettled, settleCalls, type Proof, type ToolCall } from '../tool-calls/index.ts'
import type { Approval, VoidReason } from './approval.ts'
import {
  insertApprovals,
  newApproval,
  requestEvent,
  voidApprovals,
  voidEvent,
  type NewApproval,
} from './ask.ts'
import { coveredToolOf, isCovered, isDigestOf } from './digest.ts'
import { loadApprovals } from './read.ts'

/** `again` is the new approval to ask for; null when the call cannot be asked about any more. */
export interface Drift {
  reason: VoidReason
  /** The current tool; null when it was deleted. */
  tool: Callable | null
  again: NewApproval | null
  /** Argument paths to hide from now on, in the call and in the approval; null without a tool. */
  masks: { call: string[][]; approval: string[][] } | null
}

/**
 * Checks that an approved call is still what was approved: its tool or agent and the definition of its action have not changed
 * in what approvals cover, and the digest is that of what would run. Null when so; else the approval must be voided, and a new
 * one requested if the arguments still fit the tool. `agentGates` are the gates that apply beside the tool's own.
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
  const policies = policiesOf(tool, agentGates)
  const question = {
    toolCallId: call.id,
    tool,
    merged,
    // A call that was stopped once is stopped again, even if the new gate would let it pass.
    requirement: judgeGate(policies, merged, tool.projectId) ?? approval!.requirement,
    onApprove: approval!.onApprove,
    clientTimeoutMs: approval!.clientTimeoutMs,
    requestedBy: call.requestedBy,
    actsFor: call.actsFor,
  }
  return { reason: 'TOOL_CHANGED', tool, again: newApproval(services, question), masks }
}

/** An approval, and the versions of the tools when it was read. */
export interface AgreedCall {
  approval: Approval
  toolVersions: ToolVersions
}

/**
 * The callable of the approved call when what was read before shows that nothing has drifted; neither approval nor tool is read
 * again. Null: ask `driftOf`. The lists of an upstream are refreshed first. The commit that starts the call must prove that
 * the tool still has its version.
 */
export async function callableAsAgreed(
  services: Services,
  call: ToolCall,
  { approval, toolVersions }: AgreedCall,
): Promise<Callable | null> {
  // The version of an agent does not say what the call does.
  if (!call.kind || call.kind === 'agent' || call.kind === 'client') return null
  if (call.approvalId !== approval.id || toolVersions[call.toolId!] !== call.toolVersion) return null
  const tool = await currentCallable(services, call, true)
  return tool && isSame(services, approval, tool, call) ? tool : null
}

/**
 * The paths that the tool marks as sensitive now, together with those marked when the call was proposed: nothing
 * hidden becomes visible.
 */
function masksOf(tool: Callable, call: ToolCall, approval: Approval): Drift['masks'] {
  const { arguments: asked, editedArguments: edited } = approval
  return {
    call: [...(call.masked ?? []), ...maskedPaths(tool, call.arguments)],
    approval: [...(approval.masked ?? []), ...[asked, edited].flatMap((args) => maskedPaths(tool, args))],
  }
}

/**
 * What a drift changes, written together with the proof of the call's owner: the approval is void, and the call is asked
 * about again, or settled as ERRORED when it cannot be. `call` is the part of a statement that changes the call, and
 * `approvals` the parts that change approvals, over a relation `g` that is empty when the proof fails.
 */
export function changesOfDrift(call: ToolCall, { again, reason, masks, tool }: Drift, proof: Proof) {
  const masked = masks ? { masked: masks.call } : {}
  const voiding = voidApprovals([call.approvalId!], reason, { masks: masks?.approval ?? null })
  if (!again) {
    const outcome = { id: call.id, status: 'ERRORED' as const, result: driftResult(reason), ...masked }
    return {
      call: settleCalls('refuse', [outcome], proof),
      approvals: [voiding],
      events: [voidEvent(call, reason), callSettled(call, 'ERRORED')],
    }
  }
  const { version: toolVersion, definitionHash } = tool!
  return {
    call: askAgain(call.id, { approvalId: again.id, toolVersion, definitionHash, ...masked }, proof),
    approvals: [voiding, insertApprovals([again])],
    events: [voidEvent(call, reason), requestEvent(again)],
  }
}

/** Whether what is judged of the tool has changed, or it was deleted, since the approval was asked for. */
export async function isOutdated(db: Database, { toolId, toolVersion }: Approval): Promise<boolean> {
  if (isRunTool(toolId)) return false
  const [tool] = await loadTools(db, [toolId])
  return !tool || tool.judgedVersion > toolVersion
}

function isSame({ masterKey }: Services, approval: Approval, tool: Callable, call: ToolCall): boolean {
  const { requestedBy, requirement, digest } = approval
  if (!isCovered(approval, tool)) return false
  const prepared = prepareCall(tool, call.arguments)
  if (!prepared.ok) return false
  const merged = withAttachments(prepared.merged, call.attachments)
  return isDigestOf(masterKey, digest, coveredToolOf(approval), {
    arguments: merged,
    requestedBy,
    requirement,
  })
}

/** The result for the model or caller when an approved call cannot run and cannot be asked about again. */
function driftResult(reason: VoidReason): ToolResult {
  return reason === 'TOOL_DELETED'
    ? errorResult('tool_deleted', 'The tool was deleted after the call was approved; it was not run.')
    : errorResult(
        'tool_changed',
        'The tool was changed after the call was approved, and the arguments do not fit it any more; it was not run.',
      )
}

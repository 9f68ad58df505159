/** Approvals: who waits for a verdict, as it changes, and verdicts. */
import { feedCursor, followProject, run, runPatiently, typed, type Core } from './core.ts'
import * as documents from './documents.ts'
import { abortReason, ConflictError, CursorExpiredError, errorOf } from './errors.ts'
import type {
  Approval,
  ApprovalAndViewerData,
  ApprovalAndViewerVariables,
  ApprovalByIdData,
  ApprovalByIdVariables,
  DecideApprovalData,
  DecideApprovalInput,
  DecideApprovalVariables,
  EventType,
  PendingApprovalsData,
  PendingApprovalsVariables,
} from './operation-types.ts'
import type { RequestOptions } from './request.ts'

const pendingPage = typed<PendingApprovalsData, PendingApprovalsVariables>(documents.pendingApprovals)
const byId = typed<ApprovalByIdData, ApprovalByIdVariables>(documents.approvalById)
const withViewer = typed<ApprovalAndViewerData, ApprovalAndViewerVariables>(documents.approvalAndViewer)
const decideOne = typed<DecideApprovalData, DecideApprovalVariables>(documents.decideApproval)

/** A verdict: `expectedDigest` is that of the approval which was read, so that it counts for nothing else. */
export type VerdictInput = Omit<DecideApprovalInput, 'approvalId' | 'expectedDigest'>

export interface Approvals {
  /** All that wait for a verdict, then every change, each approval as it is then. Ends with the signal, which it throws. */
  watch(options?: { signal?: AbortSignal }): AsyncIterableIterator<Approval>
  get(id: string, options?: RequestOptions): Promise<Approval | null>
  /**
   * Gives a verdict about an approval as it was read. Throws ConflictError when it was decided before, has expired, or is
   * another question now; its `approval` says so.
   */
  decide(
    approval: Pick<Approval, 'id' | 'digest'>,
    verdict: VerdictInput,
    options?: RequestOptions,
  ): Promise<Approval>
}

export function approvalsOf(core: Core): Approvals {
  return {
    watch: ({ signal } = {}) => watch(core, signal),
    get: async (id, options) => (await run(core, byId, { id }, true, options)).approval,
    decide: (approval, verdict, options) => decide(core, approval, verdict, options),
  }
}

const types: readonly EventType[] = [
  'APPROVAL_REQUESTED',
  'APPROVAL_VOTED',
  'APPROVAL_DECIDED',
  'APPROVAL_EXPIRED',
  'APPROVAL_VOIDED',
  'APPROVAL_EXTENDED',
  'APPROVAL_ESCALATED',
]

async function* watch(core: Core, signal: AbortSignal | undefined): AsyncGenerator<Approval, undefined> {
  /** What the reader believes to wait, by id. */
  const pending = new Set<string>()
  const note = (approval: Approval) => {
    if (approval.status === 'PENDING') pending.add(approval.id)
    else pending.delete(approval.id)
    return approval
  }
  for (;;) {
    if (signal?.aborted) throw abortReason(signal)
    // Everything after the cursor is told as an event: the snapshot is read after it.
    const { projectId, cursor } = await feedCursor(core, signal)
    const unseen = new Set(pending)
    for await (const approval of allPending(core, signal)) {
      unseen.delete(approval.id)
      if (!pending.has(approval.id)) yield note(approval)
    }
    for (const id of unseen) {
      const { approval } = await runPatiently(core, byId, { id }, signal)
      if (approval) yield note(approval)
      else pending.delete(id)
    }
    try {
      for await (const event of followProject(core, { projectId, after: cursor, types, signal }))
        if ('approval' in event && event.approval) {
          const isNews = event.type !== 'APPROVAL_REQUESTED' || !pending.has(event.approval.id)
          if (isNews) yield note(event.approval)
        }
    } catch (error) {
      // After a restore the log has other events: what waits is read anew.
      if (!(error instanceof CursorExpiredError)) throw error
    }
  }
}

async function* allPending(core: Core, signal: AbortSignal | undefined): AsyncGenerator<Approval> {
  let after: string | null = null
  for (;;) {
    const { approvals }: PendingApprovalsData = await runPatiently(
      core,
      pendingPage,
      { projectId: core.server.projectId, after },
      signal,
    )
    yield* approvals.nodes
    if (!approvals.pageInfo.hasNextPage) return
    after = approvals.pageInfo.endCursor
  }
}

/** A verdict whose answer was lost is given again: that it holds already is its success. */
async function decide(
  core: Core,
  { id, digest }: Pick<Approval, 'id' | 'digest'>,
  verdict: VerdictInput,
  options: RequestOptions | undefined,
): Promise<Approval> {
  const input = { ...verdict, approvalId: id, expectedDigest: digest }
  try {
    const { decideApproval } = await run(core, decideOne, { input }, true, options)
    if (decideApproval.approval) return decideApproval.approval
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error
    const { approval, viewer } = await run(core, withViewer, { id }, true, options)
    const own = approval?.votes.find((vote) => vote.by === viewer.id)
    const isSame = own?.verdict === verdict.verdict && (own.reason ?? null) === (verdict.reason ?? null)
    // A vote does not tell which arguments it was given with.
    if (!approval || !isSame || approval.digest !== digest || verdict.arguments) throw error
    return approval
  }
  throw errorOf('NOT_FOUND', 'The approval is hidden from this key.')
}

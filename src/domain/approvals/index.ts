/** The entry point of approvals. */
export {
  approvalStatus,
  claimOf,
  decisionOf,
  shownArguments,
  verdictChoice,
  verdictWays,
  voidReasons,
  Approval,
  type AskedTool,
  type Claim,
  type Verdict,
  type VerdictWay,
  type Vote,
} from './approval.ts'
export {
  insertApprovals,
  newApproval,
  requested,
  voidApprovals,
  voided,
  voidPending,
  type NewApproval,
} from './ask.ts'
export { claimApproval, releaseApproval } from './claims.ts'
export {
  approvalGrouping,
  tallyApprovals,
  type ApprovalGroup,
  type ApprovalTally,
  type StatusNumbers,
} from './counts.ts'
export { decideApprovals } from './decide-each.ts'
export { decideApproval, giveVerdict } from './decide.ts'
export { redoDigests } from './digest.ts'
export { callableAsAgreed, changesOfDrift, driftOf, type Agreed, type Drift } from './drift.ts'
export { startDeadlines } from './deadlines.ts'
export { extendableUntil, extendApproval } from './extend.ts'
export { evaluateGate, previewGate, type GateEvaluation, type GatePreview } from './gate-preview.ts'
export {
  answersTo,
  findGrants,
  takeAnswer,
  type GrantAnswer,
  type Holder,
  type StoppedCall,
  type UsableGrant,
} from './grant-use.ts'
export { getGrants, grantScope, isRefusal, listGrants, revokeGrant, type Grant } from './grants.ts'
export { found as foundApprovals } from './search.ts'
export {
  approvalFilter,
  approvalOrder,
  listApprovals,
  type ApprovalFilter,
  type ApprovalOrder,
} from './list.ts'
export type { DecidedOwner } from './decided-run.ts'
export {
  stateOfCall,
  stateOfRow,
  stateOfRun,
  type RunState,
  type RunStateRow,
  type SeenOwner,
} from './run-state.ts'
export { summaryOf, type CallSummary, type CallSummaryPart } from './summary.ts'
export { isAsked, whyNotDecide } from './may-decide.ts'
export { getApprovals, loadApprovals, loadPendingOf, hasAskedUnder, loadPendingUnder } from './read.ts'

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
  requestEvent,
  voidApprovals,
  voidEvent,
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
  approvalFilter,
  approvalOrder,
  listApprovals,
  type ApprovalFilter,
  type ApprovalOrder,
} from './list.ts'
export { decideApprovals } from './decide-each.ts'
export { decideApproval, giveVerdict } from './decide.ts'
export { redoDigests } from './digest.ts'
export { callableAsAgreed, changesOfDrift, driftOf, type AgreedCall, type Drift } from './drift.ts'
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
  getGrants,
  grantScope,
  isRefusal,
  listGrants,
  revokeGrant,
  type Grant,
} from './grants.ts'
export {
  searchCondition as foundApprovals,
  summaryOf,
  type CallSummary,
  type CallSummaryPart,
} from './summary.ts'
export {
  type DecidedOwner,
  stateOfCall,
  stateOfRow,
  stateOfRun,
  type RunState,
  type RunStateRow,
  type OwnerSnapshot,
} from './run-state.ts'
export { isAsked, whyNotDecide } from './rights.ts'
export { getApprovals, loadApprovals, loadPendingOf, hasAskedUnder, loadPendingUnder } from './read.ts'

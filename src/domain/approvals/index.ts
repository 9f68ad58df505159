/** The entry point of approvals. */
export {
  approvalStatus,
  claimOf,
  decisionOf,
  saysStop,
  shownArguments,
  verdictChoice,
  type VoidReason,
  Approval,
  type AskedTool,
  type Claim,
  type Verdict,
  type VerdictWay,
  type Vote,
  voteShape,
  claimShape,
  approvalShape,
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
  approvalFilter,
  approvalOrder,
  listApprovals,
  type ApprovalFilter,
  type ApprovalOrder,
  approvalGroup,
  approvalTally,
} from './list.ts'
export { decideApprovals } from './decide-each.ts'
export { decideApproval, giveVerdict } from './decide.ts'
export type { DecideApprovalInput } from './prepare-verdict.ts'
export { redoDigests } from './digest.ts'
export { callableAsAgreed, changesOfDrift, driftOf, type AgreedCall, type Drift } from './drift.ts'
export { startDeadlines } from './deadlines.ts'
export { changesOfLogin, loginQuestion } from './logins.ts'
export { extendableUntil, extendApproval } from './extend.ts'
export { adviseGate, gateAdvice, type GateAdvice } from './gate-advice.ts'
export {
  evaluateGate,
  previewGate,
  type GateEvaluation,
  type GatePreview,
  gateEvaluation,
  gatePreview,
} from './gate-preview.ts'
export {
  answersTo,
  findGrants,
  takeAnswer,
  type GrantAnswer,
  type Holder,
  type StoppedCall,
  type UsableGrant,
  getGrants,
  listGrants,
  revokeGrant,
} from './grants.ts'
export { grantView, isRefusal, type Grant } from './grant.ts'
export {
  briefArguments,
  searchCondition as foundApprovals,
  summaryOf,
  type CallSummary,
  summaryPart,
  callSummary,
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

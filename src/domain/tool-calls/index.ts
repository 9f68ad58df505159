/** The entry point of tool calls: their states, their rows and the only writers of them. */
export {
  callEnded,
  callProposed,
  callSettled,
  callStarted,
  callUnknown,
  executedEntry,
  factsOfCall,
} from './records.ts'
export {
  callsAsJson,
  callsOfJson,
  findDirectCall,
  getToolCalls,
  listToolCalls,
  loadCall,
  loadCalls,
  loadCallsOf,
  loadOpenCallsOf,
  showCallsBetween,
  showCallsOf,
  type StepRange,
  type ToolCallFilter,
} from './read.ts'
export {
  isNewest,
  newestAttempt,
  provesNewest,
  withAttempt,
  type OwnAttempt,
  type UnsentAttempt,
} from './own-attempt.ts'
export { inGeneration, lockHeldCalls, underLease, underLock, underOwnLeases, type Proof } from './proofs.ts'
export { insertCalls, insertDirectCalls } from './inserts.ts'
export {
  answerCaller,
  approveCall,
  askAgain,
  askCaller,
  delayedRuns,
  editCall,
  editOf,
  expireCalls,
  forgetWake,
  hasNoOutcome,
  holdBack,
  deleteCalls,
  mayStart,
  noteCallerBack,
  noteCallerGone,
  noteCancelRequested,
  noteFetched,
  offerCall,
  park,
  resolveCall,
  settleCalls,
  startCall,
  wakeCallsOf,
  wakeDirectCalls,
  wholeRow,
} from './sql.ts'
export {
  endOf,
  hasOutput,
  isOpen,
  isSettled,
  mayHaveRun,
  stateDiagram,
  toolCallStatuses,
  transitions,
  type ToolCallStatus,
} from './state.ts'
export {
  resolutions,
  targetsOf,
  toolCallOf,
  type AskedBack,
  type Pausable,
  type Resolution,
  type ToolCall,
  type ToolCallAttempt,
} from './tool-call.ts'
export type { CallOutcome, EditedCall, ProposedCall } from './writes.ts'

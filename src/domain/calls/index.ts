/** The entry point of calls: direct calls, and the execution of every call. */
export { answerCall, runCreated, attachTo, callDirectly, callTool, type CallToolInput } from './call.ts'
export { createCall, type CreatedCall } from './create.ts'
export { execute } from './execute.ts'
export type { CallStore } from './execution.ts'
export { notSent, settleLate, settleStorable } from './settle.ts'
export { batchLoadCall, waitFor, type Patience } from './wait.ts'
export type { CallRequest, Via } from './pass-gate.ts'
export {
  answerQuestion,
  askPermission,
  reportLimits,
  reportOutcome,
  reportToolCall,
  type PermissionAnswer,
} from './permission.ts'
export { resolveUnknownCall } from './resolve.ts'
export { listCalls } from './list.ts'
export { cancelCall, noteFetched, whenLost } from './withdraw.ts'
export { settleLost, startCallWorker } from './worker.ts'

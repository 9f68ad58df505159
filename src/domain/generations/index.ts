/** The entry point of generations. */
export { inputOf, settingsOfRun, inputLineOf, lineOf } from './lines.ts'
export { approvalContexts, type ApprovalContext, approvalContext } from './asked.ts'
export { settleInterruptedCalls } from './after-restore.ts'
export { cancelGenerations, mostCancelled, cancelGeneration } from './cancel.ts'
export {
  generationPayload,
  generationStatus,
  isTerminal,
  shownStatus,
  Generation,
  generationShape,
} from './generation.ts'
export {
  type FailedAttempt,
  type LeftOutTool,
  type Step,
  type UsedModel,
  leftOutTool,
  stepShape,
  agentToolSize,
  type AgentToolSize,
  failedAttempt,
} from './steps.ts'
export { showStepsBetween, showStepsOf } from './context/history.ts'
export {
  listUsableProviders,
  mostProviders,
  testProvider,
  type ProviderTrial,
  type UsableProvider,
  usableProvider,
} from './usable-providers.ts'
export { readEvents, watchGeneration, getGenerations, getSteps, loadFailedAttemptsOf } from './read.ts'
export { loadLeftOutOf } from './step/left-out.ts'
export { loadToolSizes } from './step/tool-loading.ts'
export {
  countGenerations,
  generationFilter,
  listDescendants,
  listGenerations,
  type GenerationFilter,
  tallyGenerations,
  type GenerationTally,
  generationTally,
} from './list.ts'
export { answerDelivered, forgetAwaited, hasOtherRuns } from './awaited.ts'
export { ThreadMovedOnError, type BindStart } from './bind-start.ts'
export { startGeneration, beginGeneration, type StartGenerationInput } from './start.ts'
export { isRefusedWithOthers } from './submit-judgement.ts'
export { submitToolOutputs } from './submit.ts'
export { loadTotalCosts, loadAskedUnder, loadTotalUsage, type TotalUsage } from './nesting/tree.ts'
export { startGenerationWorker } from './loop/worker.ts'

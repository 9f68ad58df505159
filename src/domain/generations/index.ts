/** The entry point of generations. */
export { inputOf, settingsOfRun } from './input.ts'
export { inputLineOf, lineOf } from './lines.ts'
export { askedFor, type ApprovalAsked, type AskedMessage, type AskingAgent } from './asked.ts'
export { settleInterruptedCalls } from './after-restore.ts'
export { cancelGenerations, mostCancelled } from './cancel-many.ts'
export { cancelGeneration } from './cancel.ts'
export {
  failureCodeChoice,
  generationPayload,
  generationStatus,
  stopReasonChoice,
  isTerminal,
  shownStatus,
  type FailedAttempt,
  Generation,
  type LeftOutTool,
  type Step,
} from './generation.ts'
export { showStepsBetween, showStepsOf } from './context/history.ts'
export {
  listUsableProviders,
  mostProviders,
  providerSources,
  testProvider,
  type ProviderTrial,
  type UsableProvider,
} from './usable-providers.ts'
export { readEvents, watchGeneration } from './generation-events.ts'
export { loadLeftOutOf } from './left-out-of-agents.ts'
export {
  countGenerations,
  generationFilter,
  listDescendants,
  listGenerations,
  type GenerationFilter,
} from './list.ts'
export { getGenerations, getSteps, loadFailedAttemptsOf } from './read.ts'
export { answerDelivered, forgetAwaited, hasOtherRuns } from './awaited.ts'
export { ThreadMovedOnError, type BindStart } from './bind-start.ts'
export { startGeneration, beginGeneration, type StartGenerationInput } from './start.ts'
export { isRefusedWithOthers } from './submit-judgement.ts'
export { submitToolOutputs } from './submit.ts'
export { loadTotalCosts } from './nesting/costs.ts'
export { loadAskedUnder, loadTotalUsage, type TotalUsage } from './nesting/tree.ts'
export {
  tallyGenerations,
  type GenerationGroup,
  type GenerationNumbers,
  type GenerationTally,
} from './tally.ts'
export { startGenerationWorker } from './loop/worker.ts'

/** The entry point of generations. */
export { summariseProject, type ProjectSummary } from './project-summary.ts'
export { inputOf, settingsOfRun, type InputMessage } from './input.ts'
export { endAllLeases, settleInterruptedCalls } from './after-restore.ts'
export { cancelGeneration } from './cancel.ts'
export {
  failureCodes,
  generationStatuses,
  isTerminal,
  shownStatus,
  stopReasons,
  type FailedAttempt,
  type Generation,
  type Step,
} from './generation.ts'
export { showStepsBetween, showStepsOf } from './context/history.ts'
export { textOf } from './model/message.ts'
export {
  createModels,
  deleteProvider,
  listProviders,
  rehearsalModel,
  setProvider,
  type EnvironmentProvider,
  type Models,
  type Provider,
  type SetProviderInput,
} from './providers/provider-records.ts'
export {
  listUsableProviders,
  mostProviders,
  providerSources,
  testProvider,
  type ProviderTrial,
  type UsableProvider,
} from './usable-providers.ts'
export { readEvents, watchGeneration } from './generation-events.ts'
export { countGenerations, listDescendants, listGenerations, type GenerationFilter } from './list.ts'
export { getGenerations, getSteps, loadFailedAttemptsOf } from './read.ts'
export { startGeneration, type StartGenerationInput } from './start.ts'
export {
  submitToolOutputs,
  type OutputOutcome,
  type Submission,
  type SubmitToolOutputsInput,
} from './submit.ts'
export { loadAskedUnder, loadTotalUsage, type TotalUsage } from './nesting/tree.ts'
export { secretUserKinds, usesOfSecrets, type SecretUse } from './secret-uses.ts'
export {
  bucketSizes,
  mostBuckets,
  mostTools,
  readStatistics,
  type Bucket,
  type Statistics,
  type ToolFigures,
} from './statistics.ts'
export {
  closeThread,
  createThread,
  externalThreadId,
  getThreads,
  isThreadClosed,
  listThreads,
  openThread,
  type CreateThreadInput,
  type Thread,
} from './threads.ts'
export { findThreadMessage, listThreadMessages, type ThreadMessage } from './thread-messages.ts'
export {
  addThreadMessage,
  openThreadWithoutAgent,
  type AddThreadMessageInput,
  type AddedMessage,
  type Repeatable,
} from './waiting-messages.ts'
export { startGenerationWorker } from './loop/worker.ts'

/** The entry point of retention: what is removed by age or by request, and what must stay. */
export { listLegalHolds, liftLegalHold, putLegalHold, LegalHold, legalHold } from './holds.ts'
export { removedKinds, type RemovedCounts } from './lease.ts'
export { keptReasons, type KeptReason } from './find-runs.ts'
export {
  previewRetention,
  listRemovedGenerations,
  type CallFact,
  type RemovedGeneration,
  removedCall,
  removedVote,
  retentionPreview,
  removedGeneration,
} from './overview.ts'
export {
  listDataRemovals,
  removeRequesterData,
  DataRemoval,
  dataRemoval,
  type KeptCounts,
} from './removals.ts'
export { dayMeanings, getRetention, setRetention, Retention, retentionShape } from './settings.ts'
export { startRetention, type RetentionWorker } from './worker.ts'

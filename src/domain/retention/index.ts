/** The entry point of retention: what is removed by age or by request, and what must stay. */
export { holdKinds, listLegalHolds, liftLegalHold, putLegalHold, LegalHold } from './holds.ts'
export { removedKinds, type RemovedCounts } from './lease.ts'
export { keptReasons, type KeptReason } from './find-runs.ts'
export {
  mostPreviewed,
  previewRetention,
  type RetentionPreview,
  listRemovedGenerations,
  type CallFact,
  type RemovedGeneration,
} from './overview.ts'
export { listDataRemovals, removeRequesterData, DataRemoval } from './removals.ts'
export { dayMeanings, getRetention, retentionFields, setRetention, Retention } from './settings.ts'
export { startRetention, type RetentionWorker } from './worker.ts'

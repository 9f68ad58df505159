/** The entry point of retention: what is removed by age or by request, and what must stay. */
export {
  holdKinds,
  listLegalHolds,
  liftLegalHold,
  putLegalHold,
  type LegalHold,
  type PutHoldInput,
} from './holds.ts'
export { removedKinds, type Removed } from './kinds.ts'
export { keptReasons, type KeptReason } from './find-runs.ts'
export { mostPreviewed, previewRetention, type RetentionPreview } from './preview.ts'
export { listDataRemovals, removeRequesterData, type DataRemoval, type RemoveDataInput } from './removals.ts'
export { getRetention, setRetention, type Retention, type SetRetentionInput } from './settings.ts'
export { listRemovedGenerations, type CallFact, type RemovedGeneration } from './tombstones.ts'
export { startRetention, type RetentionWorker } from './worker.ts'

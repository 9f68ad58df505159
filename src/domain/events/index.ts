/**
 * Events: their kinds and data, and how they are written and followed. The module is below access, which
 * writes events of keys and projects; so it checks no permission itself.
 */
export { apiKeyAccepted, apiKeyCreated, apiKeyRevoked, projectUpdated } from './access-events.ts'
export * from './agent-events.ts'
export {
  appendProjectEvents,
  eventColumns,
  eventName,
  insertEventRows,
  insertGenerationEvents,
  insertProjectEvents,
  isCopiedToRoot,
  withRequester,
} from './append.ts'
export {
  approvalClaimed,
  approvalDecided,
  approvalEscalated,
  approvalExpired,
  approvalExtended,
  approvalReleased,
  approvalRequested,
  approvalVoided,
  approvalVoted,
  grantCreated,
  grantRevoked,
} from './approval-events.ts'
export { fieldNameOf, relationOf, type Relation, type EventFacts } from './define.ts'
export {
  eventKinds,
  publicName,
  type DeclaredType,
  type DomainEvent,
  type EventData,
  type EventType,
  type GenerationEvent,
  type ProjectEvent,
  type RequestedEvent,
  type RecordedData,
  type RecordedEvent,
  type RootCopy,
} from './event.ts'
export {
  cursorAt,
  followGeneration,
  followProject,
  newestPosition,
  readGenerationEvents,
  type EventStream,
  type FeedStream,
  type StreamItem,
  type StreamStart,
} from './follow.ts'
export {
  eventsById,
  placeInFeed,
  readPart,
  searchProject,
  type FeedPage,
  type LogPage,
  type LogPart,
} from './pages.ts'
export type { FeedFilter } from '../../store/events/search.ts'
export * from './pause-events.ts'
export { requesterOf } from './requesters.ts'
export { samples } from './samples.ts'
export { gateChangeDecided, gateChanged, gateChangeProposed } from './gate-events.ts'
export {
  childEnded,
  childStarted,
  generationCancelled,
  generationCompleted,
  generationExpired,
  generationFailed,
  generationQueued,
  generationResumed,
  generationStarted,
  messageCommitted,
  requiresAction,
  stepReset,
  type StepResetReason,
} from './generation-events.ts'
export { insertRootCopies, ownerUpdate, rootCopies, updateOwner } from './owner-update.ts'
export { hintsOf, type OwnerClaim, type UpdatedOwner } from '../../store/events/owner-update.ts'
export {
  dataRemovalFinished,
  dataRemovalRequested,
  legalHoldLifted,
  legalHoldPut,
  retentionChanged,
} from './retention-events.ts'
export { slackDeleted, slackDisabled, slackSet } from './slack-events.ts'
export {
  toolCallProposed,
  toolCallSettled,
  toolCallStarted,
  toolCallUnknown,
  unknownCallResolved,
  type SettledStatus,
  type UnknownReason,
} from './tool-call-events.ts'
export * from './trigger-events.ts'
export {
  isAboutDeliveries,
  webhookCreated,
  webhookCursorExpired,
  webhookDeleted,
  webhookDeliveryDead,
  webhookDisabled,
  webhookFailing,
  webhookRecovered,
  webhookUpdated,
} from './webhook-events.ts'
export * from './resource-events.ts'
export { encodeFeedCursor, encodeGenerationCursor } from '../../store/events/position.ts'

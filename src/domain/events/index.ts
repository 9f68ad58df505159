/**
 * Events: their kinds and data, and how they are written and followed. The module is below access, which
 * writes events of keys and projects; so it checks no permission itself.
 */
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
  requesterOf,
  insertRootCopies,
  ownerUpdate,
  rootCopies,
  updateOwner,
} from './append.ts'
export * from './approval-events.ts'
export type { EventFacts } from './define.ts'
export {
  eventKinds,
  eventType,
  isSent,
  publicName,
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
  eventsById,
  placeInFeed,
  readPart,
  searchProject,
  type FeedPage,
  type LogPage,
  type LogPart,
} from './follow.ts'
export type { FeedFilter } from '../../store/events/search.ts'
export * from './generation-events.ts'
export { hintsOf, type OwnerClaim, type UpdatedOwner } from '../../store/events/log.ts'
export * from './project-events.ts'
export * from './tool-call-events.ts'
export * from './agent-events.ts'
export * from './project-events.ts'
export { encodeFeedCursor, encodeGenerationCursor } from '../../store/events/position.ts'

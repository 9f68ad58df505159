/** The entry point of threads. */
export { contentShape, givenMessage, messageRole, messagesShape } from './given-messages.ts'
export { type ConversationPlace, findPlaces, notePlaces } from './places.ts'
export { type InputMessage, shownMessage } from './shown-message.ts'
export { type ThreadMessage, listThreadMessages } from './thread-messages.ts'
export {
  type Thread,
  assertHistory,
  assertThread,
  closeThread,
  createThread,
  externalIdShape,
  getThreads,
  isThreadClosed,
  listThreads,
  namedThreadId,
  namedThreadIds,
  openThread,
} from './threads.ts'

/** The entry point of threads. */
export {
  contentShape,
  givenMessage,
  messageRole,
  messagesShape,
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
  threadShape,
} from './threads.ts'
export { type ConversationPlace, findPlaces, notePlaces } from './places.ts'
export {
  type InputMessage,
  shownMessage,
  type ThreadMessage,
  listThreadMessages,
  inputMessage,
  threadMessage,
} from './thread-messages.ts'

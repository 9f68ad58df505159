/** The front door of the bridge: what an MCP client sees of an agent, and what it may do there. */
export { callThroughAgent, type BridgeCall } from './call.ts'
export {
  closeConversation,
  isConversationOpen,
  newConversation,
  readConversation,
  type Conversation,
} from './conversation.ts'
export { entryNames, reservedIn, type BridgeEntry, type BridgeSurface } from './surface.ts'
export { watcherOfResource, type Offers } from './offers.ts'
export { relayCompletion, relayPrompt, relayResource, type Asked, type PlacedRead } from './relay.ts'
export type { Relay as RelayedWords, UpstreamReading as Reading } from '../upstream/index.ts'
export { createSurfaces, type SurfacePart, type Surfaces } from './surfaces.ts'
export {
  createSubscriptions,
  maxSubscriptions,
  subscribeToResource,
  unsubscribeFromResource,
  type Subscriptions,
} from './subscriptions.ts'
export { startTalk, watchTalk, type TalkEvent, type TalkInput } from './talk.ts'
export { answerWork, cancelWork, fetched, readWork, waitForWork, type Work, type WorkStatus } from './work.ts'
export { noteBack, noteGone } from '../calls/index.ts'
export type { Caller } from '../tools/index.ts'

/** What an MCP client sees of an agent and may do with it: surfaces, calls and runs, sessions, relayed features. */
export { callAgentTool, type AgentToolCall, type CommittedCall } from './call.ts'
export {
  closeSession,
  newSessionId,
  readSession,
  readSessionState,
  setLogLevel,
  type McpSession,
} from './session.ts'
export {
  reservedArguments,
  reservedNames,
  searchSurface,
  type BridgeEntry,
  type BridgeSurface,
} from './surface.ts'
export { subscriptionOwner, type UpstreamFeatures } from './features.ts'
export { relayCompletion, relayPrompt, relayResource, type CompletionOptions } from './relay.ts'
export { isLogLevel, type LogLevel, type Relay as UpstreamRelay } from '../upstream/index.ts'
export { createSurfaces, type SurfaceList, type Surfaces } from './surfaces.ts'
export {
  createResourceSubscriptions,
  maxSubscriptions,
  subscribeToResource,
  unsubscribeFromResource,
  type OnResourceUpdated,
  type ResourceSubscriptions,
} from './resource-subscriptions.ts'
export { startAgentRun, watchAgentRun, type AgentRunInput, type RunProgress } from './agent-run.ts'
export {
  answerInputRequests,
  cancelOwnCall,
  isBehindGate,
  markDelivered,
  readCallHandle,
  waitForHandle,
  type CallHandle,
  type CallHandleStatus,
  type InputRequest,
} from './call-handle.ts'
export type { CallerChannel } from '../tools/index.ts'

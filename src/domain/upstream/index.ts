/** The front door of upstreams: we as a client of foreign MCP servers. */
export { callUpstream, type UpstreamAnswer, type UpstreamCall, type UpstreamProgress } from './call.ts'
export type { InputRequired } from './ask.ts'
export { type Catalog, type UpstreamPrompt, type UpstreamResource } from './catalog.ts'
export type { UpstreamResourceTemplate, UpstreamTool } from './catalog.ts'
export { checkUpstreamConfig, secretsOf, type UpstreamAuth, type UpstreamConfig } from './config.ts'
export { completeArgument, getPrompt, readResource, type UpstreamReading } from './reads.ts'
export { refreshUpstream } from './refresh.ts'
export type { Relay } from './relay.ts'
export { dropUpstream, saveUpstream } from './save.ts'
export { loadUpstreams, upstreamStatuses, type UpstreamState, type UpstreamStatus } from './state.ts'
export {
  confirmLogin,
  connectUpstream,
  disconnectUpstream,
  finishLogin,
  readLogin,
  type LoginOutcome,
  type LoginQuestion,
} from './logins.ts'
export { callbackPath, clientDocumentPath, clientMetadata, loginPath } from './oauth.ts'
export { lookAtUpstream, tryUpstream } from './operations.ts'
export { testUpstream, type Trial } from './trial.ts'
export { startUpstreams } from './worker.ts'
export { resealTokens } from './tokens.ts'
export { createResourceWatches, type ResourceWatches } from './watch.ts'

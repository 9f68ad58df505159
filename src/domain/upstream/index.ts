/** The entry point of upstreams: Gatehouse as a client of other MCP servers. */
export { callUpstream, type UpstreamAnswer, type UpstreamCall, type UpstreamProgress } from './call.ts'
export type { InputRequired } from './ask.ts'
export { type Catalog, type UpstreamPrompt, type UpstreamResource } from './catalog.ts'
export type { UpstreamResourceTemplate, UpstreamTool } from './catalog.ts'
export { checkUpstreamConfig, secretsOf, type UpstreamAuth, type UpstreamConfig } from './config.ts'
export { completeArgument, getPrompt, readResource, type UpstreamReading } from './reads.ts'
export { refreshUpstream } from './refresh.ts'
export { isLogLevel, type LogLevel, type Relay } from './relay.ts'
export { dropUpstream, saveUpstream } from './save.ts'
export {
  isCatalog,
  loadCatalogs,
  loadConnections,
  loadUpstreams,
  upstreamRowOf,
  upstreamStatuses,
  type Connection,
  type UpstreamRow,
  type UpstreamState,
  type UpstreamStatus,
} from './state.ts'
export { confirmLogin, readLogin } from './login-confirm.ts'
export type { LoginOutcome } from './login-row.ts'
export { connectUpstream, disconnectUpstream, finishLogin } from './logins.ts'
export { callbackPath, clientDocumentPath, clientMetadata, loginPath } from './oauth.ts'
export { refreshUpstreamNow, tryUpstream } from './operations.ts'
export { testUpstream, type Trial } from './trial.ts'
export { startUpstreams } from './worker.ts'
export { resealTokens } from './tokens.ts'
export { createResourceWatches, type ResourceWatches } from './watch.ts'

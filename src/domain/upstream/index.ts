/** The entry point of upstreams: Gatehouse as a client of other MCP servers. */
export { callUpstream, type UpstreamAnswer, type UpstreamCall, type UpstreamProgress } from './wire/call.ts'
export type { InputRequired } from './wire/ask.ts'
export { agreeToChange, heldChanges } from './catalog/held.ts'
export {
  looseningHints,
  type Catalog,
  type UpstreamPrompt,
  type UpstreamResource,
  type UpstreamResourceTemplate,
  type UpstreamTool,
  upstreamTool,
} from './catalog/catalog.ts'
export { forgetConnectors } from './connector/messages.ts'
export { answerMessage, leave, nextMessages, noteChange, type ConnectorInput } from './connector/serve.ts'
export {
  authInput,
  authInputOf,
  authKind,
  authMeanings,
  secretOfAuth,
  type UpstreamAuth,
} from './auth-config.ts'
export {
  checkUpstreamConfig,
  secretsOf,
  upstreamConfigOf,
  upstreamFaults,
  connection,
  connectionFields,
  loginChoice,
  type UpstreamConfig,
} from './config.ts'
export { completeArgument, getPrompt, readResource, type UpstreamReading } from './wire/reads.ts'
export { refreshUpstream } from './catalog/refresh.ts'
export { isLogLevel, type LogLevel, type Relay } from './wire/relay.ts'
export { dropUpstream, saveUpstream } from './save.ts'
export { checkServer, exactVersion, remoteOf, serverName } from './server-json.ts'
export {
  loadCatalogs,
  loadConnections,
  loadUpstreams,
  upstreamRowOf,
  toolOfUpstream,
  type Connection,
  type UpstreamRow,
  type UpstreamState,
  type UpstreamStatus,
  upstreamShape,
} from './state.ts'
export { confirmLogin, readLogin, type LoginOutcome } from './oauth/login-confirm.ts'
export { connectUpstream, disconnectUpstream, finishLogin } from './oauth/logins.ts'
export { loadPersonLogins, logInToUpstream, logOutOfUpstream, type PersonLogins } from './oauth/own-login.ts'
export { callbackPath, clientDocumentPath, clientMetadata, loginPath } from './oauth/oauth.ts'
export { refreshUpstreamNow, tryUpstream, tryConfig } from './operations.ts'
export { startUpstreams } from './worker.ts'
export { keepBearer, keepSignIn } from './oauth/sign-ins.ts'
export { resealTokens } from './oauth/tokens.ts'
export { createResourceWatches, type ResourceWatches } from './watch.ts'

/** The entry point of access: principals, keys, permissions, limits and idempotency. */
export {
  projectOf,
  reachable,
  reaches,
  type Ctx,
  type Services,
  type Limits,
  type PlatformAction,
  type PlatformActions,
  type Principal,
} from './context.ts'
export { actingPrincipal, assertSpeaksFor } from './acting.ts'
export { forgetExpiredKeys, recallRepeat, recallRequest, rememberRequest, spendOnce } from './idempotency.ts'
export { assertAgent, createApiKey, getApiKeys, listApiKeys, revokeApiKey } from './key-operations.ts'
export { createKeyUses, loadKeyUses, type KeyUses } from './key-uses.ts'
export { createAuthenticator, insertKey, unauthenticated, type ApiKey, type Authenticator } from './keys.ts'
export {
  assertStillValid,
  callerColumns,
  callerRow,
  callersValid,
  lockValid,
  principalById,
  rememberedPrincipal,
  stillValid,
  type Caller,
} from './still-valid.ts'
export { principalKind, principalKinds, requesterOf, type Requester } from './subjects.ts'
export { createTokenVerifier, type OidcSettings } from './oidc.ts'
export { getPersons, namePrincipals, type NamedPrincipal } from './principals.ts'
export { createProvider } from './oidc-provider.ts'
export { createOneTimeCode, type OneTimeCode } from './one-time-code.ts'
export {
  assertMay,
  assertUnbound,
  denied,
  eachSeen,
  entryOf,
  holds,
  listAudit,
  permissionsOf,
  recordChange,
  type AuditedChange,
  type Bond,
} from './permission.ts'
export { allows, fitsPattern, policyOfRole, roles, type Action, type Policy, type Role } from './policy.ts'
export { feedCursor, listProjectEvents, watchProject } from './project-events.ts'
export {
  assertOneMayRegate,
  createProject,
  dropSecondForGates,
  findProject,
  getProjects,
  insertProject,
  listProjects,
  updateProject,
  type Project,
  type UpdateProjectInput,
} from './projects.ts'
export { assertQuota } from './quota.ts'
export { memberOf, personsOf } from './persons.ts'
export {
  assertUse,
  createRateLimiter,
  limitScopes,
  listRateLimits,
  setRateLimit,
  type RateLimit,
} from './limits.ts'
export { createAddressLimit, type AddressLimit, type Quota } from './rate.ts'
export {
  endSession,
  endSessions,
  findOwnSession,
  listOwnSessions,
  listSessions,
  startSession,
} from './session-operations.ts'
export { createSignIn, signInMs, type SignIn } from './sign-in.ts'
export {
  createSessionAuthenticator,
  forgetExpiredSessions,
  longestSessionMs,
  sessionCookie,
  sessionMethods,
  type Session,
  type SessionMethod,
  type SessionAuthenticator,
} from './sessions.ts'
export { createRevocationWatcher } from './revocation-watcher.ts'
export { asAppError } from './storage-fault.ts'
export { untilRevoked } from './until-revoked.ts'

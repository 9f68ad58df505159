/** The entry point of access: principals, keys, permissions, limits and idempotency. */
export {
  projectOf,
  reachable,
  reaches,
  type Ctx,
  type PlatformAction,
  type PlatformActions,
  type Release,
  type Services,
} from './context.ts'
export type { Limits } from './limits/configured.ts'
export type { Principal } from './principal.ts'
export { actingPrincipal, assertSpeaksFor } from './acting.ts'
export { forgetExpiredKeys, recallRequest, rememberRequest, spendOnce } from './idempotency.ts'
export {
  acceptInvitation,
  checkInvitation,
  createInvitation,
  invitationPath,
  joinInvitation,
  type AcceptOutcome,
} from './invitations.ts'
export { keysOfAccount, type JoinedKey } from './joined-keys.ts'
export { assertAgent, createApiKey, getApiKeys, listApiKeys, revokeApiKey } from './key-operations.ts'
export { revocationOf, type Revocation } from './key-revocation.ts'
export { createKeyUses, loadKeyUses, type KeyUses } from './key-uses.ts'
export { createKeyOnMachine, type KeyOnMachine } from './keys-on-machine.ts'
export {
  createAuthenticator,
  insertKey,
  unauthenticated,
  ApiKey,
  type Authenticator,
  type TokenVerifier,
} from './keys.ts'
export {
  assertStillValid,
  basisOf,
  lockValid,
  principalById,
  rememberedPrincipal,
  type Caller,
} from './still-valid.ts'
export {
  isSubject,
  keepSubject,
  principalKind,
  principalKinds,
  systemId,
  requesterOf,
  type Account,
  type Requester,
} from './subjects.ts'
export { getPersons, namePrincipals, type NamedPrincipal } from './principals.ts'
export {
  actionsOf,
  inProject,
  ofVersion,
  deletion,
  operation,
  operationsIn,
  type Declaration,
  type InputOf,
  type Operation,
} from './operation.ts'
export { isWithinReach, narrowedTo, ownedBy, ownEvents, reachesOthers } from './own.ts'
export {
  assertMay,
  assertReached,
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
export {
  allows,
  fitsPattern,
  policyOfRole,
  role,
  roles,
  withoutGates,
  type Action,
  type Policy,
  type Role,
} from './policy.ts'
export { assertQuota } from './limits/quota.ts'
export { changedMeanwhile, guardName, publishNews, publishSurface } from './saving.ts'
export { memberOf, personsOf } from './persons.ts'
export {
  assertCost,
  assertUse,
  createRateLimiter,
  limitScope,
  listRateLimits,
  setRateLimit,
  RateLimit,
} from './limits/rates.ts'
export { createAddressLimit, type AddressLimit, type Quota } from './limits/limiter.ts'
export {
  createSessionAuthenticator,
  forgetExpiredSessions,
  idleMs,
  longestSessionMs,
  sessionCookie,
  sessionMethods,
  sessionOf,
  tokenPrefix,
  Session,
  type SessionMethod,
  type SessionAuthenticator,
} from './sessions.ts'
export { createRevocationWatcher } from './revocation-watcher.ts'
export { asAppError } from './storage-fault.ts'
export { untilRevoked } from './until-revoked.ts'

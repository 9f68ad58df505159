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
  releaseShape,
  platformAction,
} from './context/context.ts'
export { type Limits, createAddressLimit, type AddressLimit, type Quota } from './limits/limiter.ts'
export {
  type Principal,
  isSubject,
  keepSubject,
  principalKind,
  principalKindChoice,
  systemId,
  requesterOf,
  type Account,
  type Requester,
} from './principals/subjects.ts'
export {
  actingPrincipal,
  assertSpeaksFor,
  assertStillValid,
  basisOf,
  lockValid,
  principalById,
  rememberedPrincipal,
  type Caller,
  getPersons,
  namePrincipals,
  type NamedPrincipal,
  principalShape,
} from './principals/still-valid.ts'
export { forgetExpiredKeys, recallRequest, rememberRequest, spendOnce } from './context/idempotency.ts'
export {
  acceptInvitation,
  checkInvitation,
  createInvitation,
  invitationPath,
  joinInvitation,
  type AcceptOutcome,
  keysOfAccount,
  type JoinedKey,
} from './principals/invitations.ts'
export {
  assertAgent,
  createApiKey,
  getApiKeys,
  listApiKeys,
  revokeApiKey,
  revocationOf,
  type Revocation,
  keyRevocation,
} from './principals/key-operations.ts'
export {
  createKeyUses,
  loadKeyUses,
  type KeyUses,
  createAuthenticator,
  insertKey,
  unauthenticatedError,
  ApiKey,
  type Authenticator,
  type TokenVerifier,
  apiKeyShape,
} from './principals/keys.ts'
export { createKeyOnMachine, type KeyOnMachine } from './principals/keys-on-machine.ts'
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
  changedMeanwhile,
  guardName,
  publishNews,
  publishSurface,
  asAppError,
} from './context/operation.ts'
export {
  isWithinReach,
  reachablePrincipals,
  ownershipCondition,
  ownEvents,
  reachesOthers,
  assertMay,
  assertReached,
  assertUnbound,
  denialError,
  visibleRows,
  entryOf,
  holds,
  listAudit,
  permissionsOf,
  recordChange,
  type AuditedChange,
  type Bond,
} from './permission/permission.ts'
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
} from './permission/policy.ts'
export {
  assertQuota,
  assertCost,
  assertUse,
  createRateLimiter,
  listRateLimits,
  setRateLimit,
  RateLimit,
  rateLimit,
} from './limits/rates.ts'
export { memberOf, personsOf } from './principals/persons.ts'
export {
  createSessionAuthenticator,
  forgetExpiredSessions,
  idleMs,
  longestSessionMs,
  sessionCookie,
  sessionOf,
  tokenPrefix,
  Session,
  type SessionMethod,
  type SessionAuthenticator,
  sessionShape,
} from './principals/sessions.ts'
export { createRevocationWatcher, untilRevoked } from './principals/revocation-watcher.ts'

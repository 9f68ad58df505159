/** The front door of access: who is asking and what they may do. */
export {
  projectOf,
  reachable,
  reaches,
  type Ctx,
  type House,
  type Limits,
  type PlatformAction,
  type PlatformActions,
  type Principal,
} from './context.ts'
export { forgetExpiredKeys, rememberRequest } from './idempotency.ts'
export { createApiKey, getApiKeys, listApiKeys, revokeApiKey } from './key-operations.ts'
export {
  assertStillValid,
  createAuthenticator,
  insertKey,
  principalById,
  unauthenticated,
  type ApiKey,
  type Authenticator,
} from './keys.ts'
export { createTokenVerifier, type OidcSettings } from './oidc.ts'
export {
  assertMay,
  denied,
  eachSeen,
  entryOf,
  listAudit,
  recordChange,
  type AuditedChange,
} from './permission.ts'
export { allows, policyOfRole, roles, type Action, type Policy, type Role } from './policy.ts'
export { createProject, getProjects, insertProject, listProjects, type Project } from './projects.ts'
export { assertRoom } from './room.ts'
export {
  assertUse,
  createRateLimiter,
  limitScopes,
  listRateLimits,
  setRateLimit,
  type RateLimit,
} from './limits.ts'
export { createAddressLimit, type AddressLimit, type Quota } from './rate.ts'
export { createStays } from './stays.ts'
export { asAppError } from './storage-fault.ts'

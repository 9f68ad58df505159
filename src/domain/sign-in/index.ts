/** The entry point of sign-in: sessions of browsers, and people of an identity provider. */
export { createTokenVerifier, type OidcSettings, createProvider } from './oidc.ts'
export {
  createLink,
  endSessions,
  findOwnSession,
  isLocalLink,
  listOwnSessions,
  listSessions,
  openLink,
  startSession,
} from './session-operations.ts'
export { createSignIn, signInMs, type SignIn, type SignInGoal } from './sign-in.ts'

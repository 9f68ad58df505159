/** The entry point of verdict links: verdicts with a link and a one-time code, without signing in. */
export { decideByLink, type LinkOutcome } from './decide.ts'
export { forgetOldTries } from './tries.ts'

/** A code that is accepted once, for a while. */
import { newToken, sameText } from '../../core/signing.ts'
import type { Clock } from '../../core/clock.ts'

export interface OneTimeCode {
  /** 256 random bits, base64url. */
  readonly code: string
  /** Whether this is the code, it has not expired, and nobody has spent it; spends it. */
  spend(given: string): boolean
}

/** Lives in this process only: after a restart it is invalid. */
export function createOneTimeCode(clock: Clock, lifetimeMs: number): OneTimeCode {
  const code = newToken('')
  const until = clock.now() + lifetimeMs
  let isSpent = false
  return {
    code,
    spend(given) {
      if (isSpent || clock.now() > until || !sameText(given, code)) return false
      isSpent = true
      return true
    },
  }
}

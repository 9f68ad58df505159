/** The port to what notices that a key or session has ended. */
import type { Principal } from './principal.ts'

/** Ends streams, sockets and held requests when the key or session that opened them ends. */
export interface RevocationWatcher {
  /**
   * Calls `end` once when the principal's key is revoked, on any replica, or expires, or its session ends. Returns a
   * function that removes the callback. Throws LIMITED when the key or its project already has the most streams that it
   * may have on this replica. A revocation whose hint was lost, and a session that was not used, is found within 5
   * seconds.
   */
  onRevoked(
    principal: Pick<Principal, 'id' | 'projectId' | 'expiresAt' | 'sessionId'>,
    end: () => void,
  ): () => void
  close(): void
}

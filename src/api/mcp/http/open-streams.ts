/** The open streams of this process: ended when it closes, and when their caller's key is revoked. */
import { onAbort } from '../../../core/abort.ts'
import type { Services, Principal } from '../../../domain/access/index.ts'

export interface OpenStreams {
  /** Calls `end` when the stream must end early; forgets the stream when `ended` aborts. */
  register(principal: Principal, end: () => void, ended: AbortSignal): void
  /** Ends all streams; clients reconnect. */
  close(): void
}

export function createOpenStreams({ revocations }: Pick<Services, 'revocations'>): OpenStreams {
  const open = new Set<() => void>()
  return {
    register(principal, end, ended) {
      const forget = revocations.onRevoked(principal, end)
      open.add(end)
      onAbort(ended, () => {
        open.delete(end)
        forget()
      })
    },
    close() {
      for (const end of open) end()
    },
  }
}

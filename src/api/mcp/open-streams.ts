/** Streams that stay open for long: ended when this process closes, and with the key of their caller. */
import { onAbort } from '../../core/abort.ts'
import type { Services, Principal } from '../../domain/access/index.ts'

export interface OpenStreams {
  /** Keeps a stream of this caller until it is `over`; `end` is called when it must end before. */
  keep(principal: Principal, end: () => void, over: AbortSignal): void
  /** Ends all; clients come back. */
  close(): void
}

export function createOpenStreams({ revocations }: Pick<Services, 'revocations'>): OpenStreams {
  const open = new Set<() => void>()
  return {
    keep(principal, end, over) {
      const forget = revocations.onRevoked(principal, end)
      open.add(end)
      onAbort(over, () => {
        open.delete(end)
        forget()
      })
    },
    close() {
      for (const end of open) end()
    },
  }
}

/** Streams that stay open for long: ended when this process closes, and when the key of their caller is revoked. */
import { onAbort } from '../../core/abort.ts'
import type { House } from '../../domain/access/index.ts'

export interface OpenStreams {
  /** Keeps a stream of this caller until `gone`; `end` is called when it must end before. */
  keep(principalId: string, end: () => void, gone: AbortSignal): void
  /** Ends all; clients come back. */
  close(): void
}

export function createOpenStreams({ bell }: Pick<House, 'bell'>): OpenStreams {
  const open = new Set<{ principalId: string; end(): void }>()
  const unlisten = bell.listen((hint) => {
    if (hint.kind !== 'signal' || hint.name !== 'revoked') return
    for (const stream of open) if (stream.principalId === hint.id) stream.end()
  })
  return {
    keep(principalId, end, gone) {
      const stream = { principalId, end }
      open.add(stream)
      onAbort(gone, () => void open.delete(stream))
    },
    close() {
      unlisten()
      for (const { end } of open) end()
    },
  }
}

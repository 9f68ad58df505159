/** A subscription on one connection, as both transports give it. */
import type { ServerError } from './errors.ts'

export interface Operation {
  query: string
  variables: Record<string, unknown>
}

export interface StreamResult {
  data?: Record<string, unknown> | null
  errors?: readonly ServerError[]
}

/** Hears one subscription. After `lost`, `refused` or `completed` nothing comes any more. */
export interface Listener {
  next(result: StreamResult): void
  /** The connection is gone; the subscription may be opened again. */
  lost(reason: unknown): void
  /** The server does not serve it. */
  refused(errors: readonly ServerError[]): void
  completed(): void
}

export interface Transport {
  /** Returns what ends the subscription. The listener receives nothing after that. */
  open(operation: Operation, listener: Listener): () => void
  /** Closes all connections. */
  close(): void
}

/** The error of a key that was refused, revoked or has expired. */
export const keyRefused: readonly ServerError[] = [
  { message: 'The key or session is not valid, or not any more.', extensions: { code: 'UNAUTHENTICATED' } },
]

/**
 * What the MCP endpoints of this process share between requests: open streams, and how long things are held and
 * repeated.
 */
import { onAbort } from '../../../core/time.ts'
import type { Services, Principal } from '../../../domain/access/index.ts'
import type { Log } from '../../../core/log.ts'
import {
  createResourceSubscriptions,
  createSurfaces,
  type ResourceSubscriptions,
  type Surfaces,
} from '../../../domain/bridge/index.ts'
import { createChangeNotifications, type ChangeNotifications } from './change-notifications.ts'
import { createServerRequests, type ServerRequests } from './server-requests.ts'
import { createSessions, type Sessions } from './sessions.ts'

/** The open streams of this process: ended when it closes, and when their caller's key is revoked. */
interface OpenStreams {
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

/** All in milliseconds. Most clients give up after 60 seconds without a response or progress. */
export interface McpTimings {
  /** A run of the agent may take so long; time spent waiting for approval does not count. */
  runMs: number
  /** How long a legacy client without progress is held while a person decides. */
  inlineHoldMs: number
  /**
   * The same for one that asked for progress: few clients start their time limit again with it, so it has to be under
   * the common 60 seconds too.
   */
  progressHoldMs: number
  /** How long one round of a modern client is held while a person decides. */
  roundHoldMs: number
  /** Interval of progress notifications while a person decides. */
  progressMs: number
  /** A call that ends sooner returns its result at once, although the client supports tasks. */
  taskAfterMs: number
  /** The polling interval that tasks suggest to the client. */
  pollMs: number
}

export const defaultTimings: McpTimings = {
  runMs: 60_000,
  inlineHoldMs: 45_000,
  progressHoldMs: 45_000,
  roundHoldMs: 40_000,
  progressMs: 5000,
  taskAfterMs: 500,
  pollMs: 2000,
}

export interface McpRuntime {
  surfaces: Surfaces
  sessions: Sessions
  serverRequests: ServerRequests
  changes: ChangeNotifications
  streams: OpenStreams
  subscriptions: ResourceSubscriptions
  timings: McpTimings
  log: Log
  /** Ends all streams; clients reconnect. */
  close(): void
}

export function createMcpRuntime(services: Services, timings: Partial<McpTimings> = {}): McpRuntime {
  const surfaces = createSurfaces(services)
  const sessions = createSessions(services)
  const streams = createOpenStreams(services)
  const subscriptions = createResourceSubscriptions(services, surfaces)
  const serverRequests = createServerRequests(services)
  return {
    surfaces,
    sessions,
    serverRequests,
    changes: createChangeNotifications(surfaces),
    streams,
    subscriptions,
    timings: { ...defaultTimings, ...timings },
    log: services.log,
    close() {
      streams.close()
      subscriptions.close()
      sessions.close()
      serverRequests.close()
      surfaces.close()
    },
  }
}

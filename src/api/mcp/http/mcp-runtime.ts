/** What the MCP endpoints of this process share between requests. */
import type { Log } from '../../../core/log.ts'
import type { Services } from '../../../domain/access/index.ts'
import {
  createResourceSubscriptions,
  createSurfaces,
  type ResourceSubscriptions,
  type Surfaces,
} from '../../../domain/bridge/index.ts'
import { createChangeNotifications, type ChangeNotifications } from './change-notifications.ts'
import { createOpenStreams, type OpenStreams } from './open-streams.ts'
import { createServerRequests, type ServerRequests } from './server-requests.ts'
import { createSessions, type Sessions } from './sessions.ts'
import { defaultTimings, type McpTimings } from './timings.ts'

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

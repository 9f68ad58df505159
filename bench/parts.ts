/** The measurements by their names, in the order in which all of them run. */
import type { BenchArguments } from './arguments.ts'
import { measureBridge } from './bridge.ts'
import { measureCells } from './cells.ts'
import { measureDecision } from './decision.ts'
import { measureFanout } from './fanout.ts'
import { measureGuards } from './guards.ts'
import { measureIdle } from './idle.ts'
import { measureInboxes } from './inbox.ts'
import { measureLimit } from './limit.ts'
import { measurePage } from './page.ts'
import { measurePageSize } from './page-size.ts'
import { measurePeers } from './peers.ts'
import { measureQuery } from './query.ts'
import { measureReplicas } from './replicas.ts'
import { measureRetention } from './retention.ts'
import { measureScale } from './scale.ts'
import { measureSizing } from './sizing.ts'
import { measureStatements } from './statements.ts'
import { measureTasks } from './tasks.ts'
import { measureToolSearch } from './tool-search.ts'
import { measureUnits } from './units.ts'
import { measureUpstreams } from './upstreams.ts'
import { measureWebhooks } from './webhooks.ts'

export const parts: Record<string, (given: Pick<BenchArguments, 'runs'>) => Promise<void>> = {
  limit: measureLimit,
  units: measureUnits,
  peers: measurePeers,
  statements: measureStatements,
  decision: measureDecision,
  idle: measureIdle,
  bridge: measureBridge,
  upstreams: measureUpstreams,
  query: measureQuery,
  guards: measureGuards,
  fanout: measureFanout,
  inbox: measureInboxes,
  scale: measureScale,
  sizing: measureSizing,
  cells: measureCells,
  replicas: measureReplicas,
  webhooks: measureWebhooks,
  retention: measureRetention,
  page: measurePage,
  'page-size': measurePageSize,
  tasks: measureTasks,
  'tool-search': measureToolSearch,
}

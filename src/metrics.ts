/** The metrics of this process, for Prometheus. Labels are never ids. */
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import type { Sockets } from './api/graphql/transport/sockets.ts'
import type { Config } from './config.ts'
import type { Meters, UnitKind } from './core/telemetry/unit.ts'
import type { Services } from './domain/access/index.ts'
import type { Egress } from './domain/egress/index.ts'
import { countAttention, type Attention } from './domain/statistics/index.ts'
import type { Workers } from './workers.ts'
import type { Database } from './store/db/database.ts'
import type { EventBroadcaster } from './store/events/broadcaster.ts'
import type { Lag } from './store/events/numbering.ts'

/** The most models that get a label of their own: whoever may write agents chooses the names. */
const maxModels = 50
/** Buckets in seconds, and in tokens, as the conventions for generative AI and MCP advise. */
const modelBuckets = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const callBuckets = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
const tokenBuckets = Array.from({ length: 14 }, (_, i) => 4 ** i)

interface Duration {
  name: string
  help: string
  labels: string[]
  buckets: number[]
}

const durations: Record<UnitKind, Duration> = {
  agent: {
    name: 'gen_ai_invoke_agent_duration_seconds',
    help: 'Time that a run was held by this process, from its claim until it waits or ends.',
    labels: ['outcome'],
    buckets: callBuckets,
  },
  model: {
    name: 'gen_ai_client_operation_duration_seconds',
    help: 'Time of an attempt at a model response, to its end. kind: of the provider.',
    labels: ['kind', 'outcome', 'model'],
    buckets: modelBuckets,
  },
  tool: {
    name: 'gen_ai_execute_tool_duration_seconds',
    help: 'Time of a sent tool call. kind: of the tool.',
    labels: ['kind', 'outcome'],
    buckets: callBuckets,
  },
  mcp: {
    name: 'mcp_server_operation_duration_seconds',
    help: 'Time of a tools/call that this server served. kind: what the name stands for.',
    labels: ['kind', 'outcome'],
    buckets: callBuckets,
  },
}

/** A registry, and what counts in it while the server works. */
export function createMeters(): { registry: Registry; meters: Meters } {
  const registry = new Registry()
  const histogram = ({ name, help, labels: labelNames, buckets }: Duration) =>
    new Histogram({ name, help, labelNames, buckets, registers: [registry] })
  const byUnit = {
    agent: histogram(durations.agent),
    model: histogram(durations.model),
    tool: histogram(durations.tool),
    mcp: histogram(durations.mcp),
  }
  const tokens = histogram({
    name: 'gen_ai_client_token_usage',
    help: 'Tokens of a model response. kind: of the provider.',
    labels: ['kind', 'type', 'model'],
    buckets: tokenBuckets,
  })
  const models = new Set<string>()
  /** Only a model that has answered gets a label: a name that no provider has costs nothing. */
  const modelLabel = (model: string, hasAnswered: boolean) => {
    if (hasAnswered && models.size < maxModels) models.add(model)
    return models.has(model) ? model : 'other'
  }
  return {
    registry,
    meters: {
      duration(unit, seconds, { outcome, kind, model }) {
        const labels = {
          outcome,
          ...(kind === undefined ? {} : { kind }),
          ...(model === undefined ? {} : { model: modelLabel(model, outcome === 'success') }),
        }
        byUnit[unit].observe(labels, seconds)
      },
      tokens(type, count, { kind, model }) {
        tokens.observe({ type, kind, model: modelLabel(model, true) }, count)
      },
    },
  }
}

/** How long counts of the database are served again, in milliseconds: several collectors may ask. */
const attentionMs = 5000

/** What waits for people, counted in the database; NaN while it is unavailable. */
function addAttention(registry: Registry, db: Database): void {
  let last: Promise<Attention> | null = null
  let at = -Infinity
  const read = () => {
    if (performance.now() - at > attentionMs) {
      at = performance.now()
      last = countAttention(db)
    }
    return last!
  }
  const gauge = (name: string, help: string, pick: (counts: Attention) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set(await read().then(pick, () => Number.NaN))
      },
    })
  gauge(
    'gatehouse_tool_calls_unknown',
    'Tool calls with an unknown outcome that nobody has resolved, counted up to 10,000.',
    ({ unknown }) => unknown,
  )
  gauge(
    'gatehouse_approvals_pending',
    'Questions that wait for a verdict, counted up to 10,000.',
    ({ pending }) => pending,
  )
  gauge(
    'gatehouse_approvals_ending',
    'Questions without a verdict that expire within a minute, counted up to 10,000.',
    ({ ending }) => ending,
  )
  gauge(
    'gatehouse_upstreams_faulty',
    'Upstreams that do not answer or need a login, counted up to 10,000.',
    ({ faulty }) => faulty,
  )
}

/** Gauges of events without a position in the feed; NaN while the database is unavailable. */
function addLag(registry: Registry, broadcaster: EventBroadcaster): void {
  const gauge = (name: string, help: string, read: (lag: Lag) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set(await broadcaster.lag().then(read, () => Number.NaN))
      },
    })
  gauge(
    'gatehouse_events_lag_seconds',
    'Age of the oldest committed event without a position in the feed; 0 when there is none.',
    (lag) => lag.seconds,
  )
  gauge(
    'gatehouse_events_unnumbered',
    'Committed events without a position in the feed, counted up to 10,000.',
    (lag) => lag.events,
  )
}

/** Counters of the connections that are kept to http tools. */
function addConnections(registry: Registry, { kept }: Egress): void {
  const counter = (name: string, help: string, read: () => number) =>
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  counter(
    'gatehouse_tool_connections_reused_total',
    'Requests of http tools that went over a kept connection.',
    () => kept.reused,
  )
  counter(
    'gatehouse_tool_connections_lost_total',
    'Of these, requests whose connection was lost before a byte of the response.',
    () => kept.lost,
  )
  counter(
    'gatehouse_tool_connections_unasked_total',
    'Connections to http tools that were closed because the server sent bytes that nobody had asked for.',
    () => kept.unasked,
  )
}

/** Counters and the lag of webhooks; only a process that runs workers delivers. */
function addWebhooks(registry: Registry, { webhooks }: Workers): void {
  const attempts = new Counter({
    name: 'gatehouse_webhook_attempts_total',
    help: 'Attempts to deliver an event to a webhook; dead: those after which no other follows by itself.',
    labelNames: ['outcome'],
    registers: [],
    collect() {
      this.reset()
      for (const [outcome, count] of Object.entries(webhooks.counts)) this.inc({ outcome }, count)
    },
  })
  const lag = new Gauge({
    name: 'gatehouse_webhooks_lag_seconds',
    help: 'Age of the oldest event that an enabled webhook has not been sent yet; 0 when there is none.',
    registers: [],
    async collect() {
      this.set(await webhooks.lag().catch(() => Number.NaN))
    },
  })
  registry.registerMetric(attempts)
  registry.registerMetric(lag)
}

/** Adds what is read when the metrics are asked for. */
export function addGauges(
  registry: Registry,
  { workerSlots }: Pick<Config, 'workerSlots'>,
  { broadcaster, egress, health, db }: Services,
  sockets: Sockets | null,
  workers: Workers | null,
): void {
  // The default of 10 ms wakes an idle process a hundred times a second.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 })
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      },
    })
  gauge(
    'gatehouse_generations_in_hand',
    'Generations that this process is running.',
    () => workers?.busy() ?? 0,
  )
  gauge(
    'gatehouse_database_oldest_write_seconds',
    'Age of the oldest write without an answer of the database, COMMIT included; it grows while no synchronous standby confirms.',
    () => health.waiting().oldestWriteMs / 1000,
  )
  gauge(
    'gatehouse_database_abandoned_connections',
    'Connections that this process has given up and whose statement still waits in the server; they count against its pool.',
    () => health.waiting().abandoned,
  )
  gauge('gatehouse_streams', 'Streams of events with a subscriber in this process.', () =>
    broadcaster.topicCount(),
  )
  addLag(registry, broadcaster)
  addConnections(registry, egress)
  if (workers) addWebhooks(registry, workers)
  gauge('gatehouse_sockets', 'Open GraphQL sockets of this process.', () => sockets?.count() ?? 0)
  gauge(
    'gatehouse_generation_slots',
    'Generations that this process may run at once; 0 without workers.',
    () => (workers ? workerSlots : 0),
  )
  gauge(
    'gatehouse_database_queued_statements',
    'Statements and transactions that wait for a free connection of this process.',
    () => health.waiting().queued,
  )
  addAttention(registry, db)
}

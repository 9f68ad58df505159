/** The metrics of this process that are read when they are asked for, for Prometheus. Labels are never ids. */
import { Counter, Gauge, type Registry, collectDefaultMetrics } from 'prom-client'
import type { Sockets } from './api/graphql/transport/sockets.ts'
import type { Config } from './config.ts'
import type { Services } from './domain/access/index.ts'
import type { Egress } from './domain/egress/index.ts'
import { countAttention, type Attention } from './domain/statistics/index.ts'
import type { Workers } from './workers.ts'
import type { Database } from './store/db/database.ts'
import type { EventBroadcaster } from './store/events/broadcaster.ts'
import type { Lag } from './store/events/numbering.ts'

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

/** Counters of retention; only a process that runs workers sweeps. */
function addRetention(registry: Registry, { retention }: Workers): void {
  const removed = new Counter({
    name: 'gatehouse_retention_removed_total',
    help: 'Rows that sweeps of this process have removed, by kind; runs with those below them.',
    labelNames: ['kind'],
    registers: [],
    collect() {
      this.reset()
      for (const [kind, count] of Object.entries(retention.counts().removed)) this.inc({ kind }, count)
    },
  })
  const sweeps = new Counter({
    name: 'gatehouse_retention_sweeps_total',
    help: 'Sweeps of this process that ended, and those that an error interrupted.',
    labelNames: ['outcome'],
    registers: [],
    collect() {
      this.reset()
      const { sweeps: finished, failures } = retention.counts()
      this.inc({ outcome: 'finished' }, finished)
      this.inc({ outcome: 'failed' }, failures)
    },
  })
  registry.registerMetric(removed)
  registry.registerMetric(sweeps)
}

/** Adds a gauge that is read from memory. */
const gaugeIn = (registry: Registry) => (name: string, help: string, read: () => number) =>
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read())
    },
  })

/** What the connections of this process to the database wait for. */
function addConnectionsToDatabase(registry: Registry, { waiting }: Services['health']): void {
  const gauge = gaugeIn(registry)
  gauge(
    'gatehouse_database_oldest_write_seconds',
    'Age of the oldest write without an answer of the database, COMMIT included; it grows while no synchronous standby confirms.',
    () => waiting().oldestWriteMs / 1000,
  )
  gauge(
    'gatehouse_database_abandoned_connections',
    'Connections that this process has given up and whose statement still waits in the server; they count against its pool.',
    () => waiting().abandoned,
  )
  gauge(
    'gatehouse_database_queued_statements',
    'Statements and transactions that wait for a free connection of this process.',
    () => waiting().queued,
  )
}

/** Adds what is read when the metrics are asked for. */
export function addGauges(
  registry: Registry,
  { workerSlots }: Pick<Config, 'workerSlots'>,
  { broadcaster, egress, health, db, pubsub, release }: Services,
  sockets: Sockets | null,
  workers: Workers | null,
): void {
  // The default of 10 ms wakes an idle process a hundred times a second.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 })
  new Gauge({
    name: 'gatehouse_build_info',
    help: 'Always 1: the version of this program, and its newest migration of the database.',
    labelNames: ['version', 'schema'],
    registers: [registry],
  }).set({ ...release }, 1)
  const gauge = gaugeIn(registry)
  gauge(
    'gatehouse_generations_in_hand',
    'Generations that this process is running.',
    () => workers?.busy() ?? 0,
  )
  gauge(
    'gatehouse_generation_slots',
    'Generations that this process may run at once; 0 without workers.',
    () => (workers ? workerSlots : 0),
  )
  gauge('gatehouse_streams', 'Streams of events with a subscriber in this process.', () =>
    broadcaster.topicCount(),
  )
  gauge('gatehouse_sockets', 'Open GraphQL sockets of this process.', () => sockets?.count() ?? 0)
  if (pubsub.isRedisUp)
    gauge('gatehouse_redis_up', 'Whether Redis carries hints between replicas: 1 or 0.', () =>
      pubsub.isRedisUp!() ? 1 : 0,
    )
  addConnectionsToDatabase(registry, health)
  addLag(registry, broadcaster)
  addConnections(registry, egress)
  if (workers) {
    addWebhooks(registry, workers)
    addRetention(registry, workers)
  }
  addAttention(registry, db)
}

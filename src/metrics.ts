/** The metrics of a process, for Prometheus. */
import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client'
import type { Sockets } from './api/graphql/transport/sockets.ts'
import type { Services } from './domain/access/index.ts'
import type { Egress } from './domain/egress/index.ts'
import type { EventBroadcaster } from './store/events/broadcaster.ts'
import type { Lag } from './store/events/numbering.ts'
import type { Workers } from './workers.ts'

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

/** The metrics of a process; those of workers only where it runs some. */
export function metricsOf(
  { broadcaster, egress, health, release }: Services,
  sockets: Sockets | null,
  workers: Workers | null,
): Registry {
  const registry = new Registry()
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
  new Gauge({
    name: 'gatehouse_build_info',
    help: 'Always 1: the version of this program, and its newest migration of the database.',
    labelNames: ['version', 'schema'],
    registers: [registry],
  }).set({ ...release }, 1)
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
  if (workers) {
    addWebhooks(registry, workers)
    addRetention(registry, workers)
  }
  gauge('gatehouse_sockets', 'Open GraphQL sockets of this process.', () => sockets?.count() ?? 0)
  return registry
}

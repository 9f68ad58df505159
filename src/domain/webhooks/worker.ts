/** This process's worker of webhooks: claims endpoints that have events behind their place, and delivers to them. */
import { watchNews } from '../../store/work/news.ts'
import { startWorker } from '../../store/work/worker.ts'
import type { Services } from '../access/index.ts'
import { claimCursors, countCursors, lagOf } from './claim.ts'
import { deliver, type DeliveryCounts } from './deliver.ts'

/** Endpoints that get events at the same time: one that hangs keeps its own slot only. */
const slots = 256

export interface WebhookWorker {
  counts: Readonly<DeliveryCounts>
  /** The age in seconds of the oldest event that an enabled webhook has not been sent yet. */
  lag(): Promise<number>
  drain(): void
  stop(graceMs: number): Promise<void>
}

/**
 * Starts the worker. It sends no statement while the log does not grow and no cursor is due. An event whose hint was lost
 * is found by the next poll of the schedule.
 */
export function startWebhooks(services: Services): WebhookWorker {
  const { leaseDb, heartbeat, pubsub, schedule, limits, log } = services
  const counts: DeliveryCounts = { delivered: 0, failed: 0, dead: 0 }
  const news = watchNews(
    services,
    'webhook_cursors',
    () => countCursors(leaseDb),
    () => worker.poll(),
  )
  const worker = startWorker({
    db: leaseDb,
    pubsub,
    table: 'webhook_cursors',
    leases: heartbeat.of('webhook_cursors'),
    slots,
    schedule,
    claim: async (limit) => {
      const polled = news.polling()
      const rows = await claimCursors(leaseDb, limits.leaseMs, limit)
      if (rows.length < limit.limit && !limit.crowded?.length) polled()
      return rows
    },
    run: async (held, control) => {
      await deliver(services, held, control, counts)
      // What was numbered while the cursor was held had its hint before it was given back.
      news.pollSoon()
    },
    onError: (error, id) =>
      log.error({ err: error, id }, 'a webhook was interrupted by an unexpected error; it is taken up again'),
  })
  return {
    counts,
    lag: () => lagOf(services.db),
    drain() {
      news.stop()
      worker.drain()
    },
    async stop(graceMs) {
      news.stop()
      await worker.stop(graceMs)
    },
  }
}

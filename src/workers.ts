/** Starts the background workers of this process: generations, calls, webhooks, triggers, retention, upstreams, deadlines and housekeeping. */
import { forgetExpiredKeys, forgetExpiredSessions, type Services } from './domain/access/index.ts'
import { startDeadlines } from './domain/approvals/index.ts'
import { startFileWorker, type FileWorker } from './domain/files/index.ts'
import { startCallWorker } from './domain/calls/index.ts'
import { forgetAwaited, startGenerationWorker } from './domain/generations/index.ts'
import type { Models } from './domain/models/index.ts'
import { forgetOldStarts, startTriggers } from './domain/triggers/index.ts'
import { startRetention, type RetentionWorker } from './domain/retention/index.ts'
import { forgetConnectors, startUpstreams } from './domain/upstream/index.ts'
import {
  forgetOldDeliveries,
  forgetOldMessages,
  forgetOldTries,
  startSlack,
  startWebhooks,
  type WebhookWorker,
} from './domain/followers/index.ts'

export interface WorkersOptions {
  /** The most generations that run at once. */
  slots: number
  /** The most approved and recovered calls outside generations that run at once. */
  callSlots: number
}

export interface Workers {
  /** The number of generations that this process is running. */
  busy(): number
  /** What webhooks have delivered, and how late they are. */
  webhooks: Pick<WebhookWorker, 'counts' | 'lag'>
  /** What retention has removed. */
  retention: Pick<RetentionWorker, 'counts'>
  /** What it does by itself from time to time. */
  files: Pick<FileWorker, 'runNow'>
  /** Claims no more rows and starts nothing new; running work continues. */
  drain(): void
  /** Drains, waits at most `graceMs` for running work, then releases the remaining rows. */
  stop(graceMs: number): Promise<void>
}

const housekeepingMs = 10 * 60 * 1000

export function startWorkers(services: Services, models: Models, options: WorkersOptions): Workers {
  const generations = startGenerationWorker(services, models, { slots: options.slots })
  const calls = startCallWorker(services, { slots: options.callSlots })
  const webhooks = startWebhooks(services)
  const slack = startSlack(services)
  const triggers = startTriggers(services)
  const retention = startRetention(services)
  const files = startFileWorker(services)
  const upstreams = startUpstreams(services)
  const deadlines = startDeadlines(services)
  const housekeeping = setInterval(() => {
    void forgetExpiredKeys(services.db).catch(() => {})
    void forgetAwaited(services.db).catch(() => {})
    void forgetExpiredSessions(services.db).catch(() => {})
    void forgetConnectors(services.db).catch(() => {})
    void forgetOldMessages(services.db).catch(() => {})
    void forgetOldTries(services.db).catch(() => {})
    void forgetOldDeliveries(services.db).catch(() => {})
    void forgetOldStarts(services.db).catch(() => {})
  }, housekeepingMs).unref()
  const claiming = [generations, calls, webhooks, slack, triggers, retention]
  return {
    webhooks,
    retention,
    busy: () => generations.busy(),
    files,
    drain: () => [...claiming, files].forEach((worker) => worker.drain()),
    async stop(graceMs) {
      clearInterval(housekeeping)
      files.drain()
      await Promise.all([deadlines.stop(), ...claiming.map((worker) => worker.stop(graceMs))])
      await upstreams.stop(0)
    },
  }
}

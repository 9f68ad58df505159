/** This process's worker of Slack integrations: claims those with news behind their place, and shows it. */
import { query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { isStorageError } from '../../store/db/storage-error.ts'
import { watchNews } from '../../store/work/news.ts'
import { readBack } from '../../store/work/read-back.ts'
import { LeaseLostError, release, type Held } from '../../store/work/work.ts'
import { startWorker, type WorkControl } from '../../store/work/worker.ts'
import type { Services } from '../access/index.ts'
import { insertEntries } from '../audit/index.ts'
import { insertProjectEvents, readPart, slackDisabled } from '../events/index.ts'
import type { SlackFailure } from './api.ts'
import {
  advance,
  claimIntegrations,
  countIntegrations,
  followed,
  giveBack,
  loadHeld,
  type HeldIntegration,
} from './claim.ts'
import type { SlackDisabledReason } from './integration.ts'
import { showApprovals } from './messages.ts'

const slots = 32
/** Few, so that what was shown is written down often: Slack takes about one message a second in a channel. */
const pageSize = 20
const shortestWaitMs = 2000
const longestWaitMs = 5 * 60_000

export interface SlackWorker {
  drain(): void
  stop(graceMs: number): Promise<void>
}

/** Starts the worker. Without integrations it costs a count when the log grows, once a second at most. */
export function startSlack(services: Services): SlackWorker {
  const { leaseDb, heartbeat, pubsub, schedule, limits, log } = services
  const news = watchNews(
    services,
    'slack_integrations',
    () => countIntegrations(leaseDb),
    () => worker.poll(),
  )
  const worker = startWorker({
    db: leaseDb,
    pubsub,
    table: 'slack_integrations',
    leases: heartbeat.of('slack_integrations'),
    slots,
    schedule,
    claim: async (limit) => {
      const polled = news.polling()
      const rows = await claimIntegrations(leaseDb, limits.leaseMs, limit)
      if (rows.length < limit.limit) polled()
      return rows
    },
    run: async (held, control) => {
      await follow(services, held, control)
      news.pollSoon()
    },
    onError: (error, id) =>
      log.error(
        { err: error, id },
        'a Slack integration was interrupted by an unexpected error; it is taken up again',
      ),
  })
  return {
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

async function follow(services: Services, held: Held, control: WorkControl): Promise<void> {
  const { lease, signal, isDraining } = control
  while (!signal.aborted) {
    if (isDraining()) return release(services.leaseDb, 'slack_integrations', [held])
    await lease.confirm()
    const { epoch } = held
    try {
      if ((await round(services, held, control)) === 'ended') return
    } catch (error) {
      if (!isStorageError(error)) throw error
      await readBack(lease, epoch, async () => {})
    }
  }
}

async function round(services: Services, held: Held, control: WorkControl): Promise<'on' | 'ended'> {
  const { db } = services
  const integration = await loadHeld(services, held)
  if (!integration) throw new LeaseLostError(held.id)
  const part = { projectId: integration.projectId, generationId: null, toolCallId: null, types: followed }
  const page = await readPart(db, part, integration.at, pageSize).catch((error: { code?: unknown }) => {
    if (error.code !== 'CURSOR_EXPIRED') throw error
    return null
  })
  if (!page) {
    services.log.warn(
      { id: held.id },
      'the place of a Slack integration in the log is gone; it goes on after it',
    )
    if (!(await advance(db, held, { at: integration.at.at, event: null }))) throw new LeaseLostError(held.id)
    return 'on'
  }
  const ids = page.events.map(({ data }) => (data as { approvalId: string }).approvalId)
  const { lease, signal, isDraining } = control
  const mayStart = () => lease.isSure() && !isDraining()
  const failure = await showApprovals(services, integration, [...new Set(ids)], { mayStart, signal })
  if (failure?.kind === 'withheld') return 'on'
  if (failure) return afterFailure(services, held, integration, failure)
  if (!(await advance(db, held, page.end))) throw new LeaseLostError(held.id)
  if (page.more || page.events.length > 0) return 'on'
  await giveBack(db, held, null)
  return 'ended'
}

/** A token or channel that is of no use disables the integration; anything else is tried again at the same place. */
async function afterFailure(
  { db, log }: Services,
  held: Held,
  integration: HeldIntegration,
  { kind, error, askedMs }: SlackFailure,
): Promise<'ended'> {
  if (kind === 'token' || kind === 'channel') {
    log.warn({ id: held.id, error }, 'a Slack integration was disabled')
    await disable(db, held, integration, kind === 'token' ? 'TOKEN_REVOKED' : 'REFUSED', error)
    return 'ended'
  }
  const backOff = Math.min(shortestWaitMs * 2 ** Math.min(integration.failures, 12), longestWaitMs)
  await giveBack(db, held, { waitMs: askedMs ?? backOff, fault: error })
  return 'ended'
}

/** Disables a held integration with event and audit entry, in one statement. */
async function disable(
  db: Services['db'],
  { id, epoch }: Held,
  { projectId }: HeldIntegration,
  reason: Exclude<SlackDisabledReason, 'BY_REQUEST'>,
  fault: string,
): Promise<void> {
  const entry = {
    projectId,
    principalId: 'system',
    action: 'slack:Set',
    resource: `slack/${projectId}`,
    outcome: 'EXECUTED',
    details: { disabled: reason, fault },
  } as const
  await query(
    db,
    sql`with g as (
        update slack_integrations set
          status = 'DISABLED',
          disabled_reason = ${reason}::text,
          disabled_at = now(),
          fault = ${fault},
          wake_at = null,
          epoch = epoch + 1,
          updated_at = now()
        where id = ${id} and epoch = ${epoch}::int and status = 'WORKING'
        returning id
      ),
      e as (${insertProjectEvents(projectId, [slackDisabled({ integrationId: id, reason })], sql`g`)}),
      a as (${insertEntries([entry])})
      select 1 from g`,
  )
}

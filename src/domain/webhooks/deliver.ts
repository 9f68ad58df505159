/** The work of the process that holds a cursor: rounds of reading, sending and committing, until nothing is left. */
import { isStorageError } from '../../store/db/storage-error.ts'
import { readBack } from '../../store/work/read-back.ts'
import { LeaseLostError, release, type Held } from '../../store/work/work.ts'
import type { WorkControl } from '../../store/work/worker.ts'
import type { Services } from '../access/index.ts'
import { eventsById, isAboutDeliveries, readPart, type LogPage } from '../events/index.ts'
import { bury, commitRound, finishCallback, finishReplay, park } from './commit.ts'
import { disable, goOnAfterLoss } from './endings.ts'
import { wake } from './operations.ts'
import { messagesOf } from './payload.ts'
import { positionOf } from './place.ts'
import { resultOf } from './result.ts'
import { roundsUntilDown } from './retry.ts'
import { inTurns, sendRound, type Job } from './round.ts'
import { send } from './send.ts'
import { loadCursor, type CursorState } from './state.ts'

/** Events that are read at once; fewer with arguments, which may have 256 KiB each. */
const pageSize = { thin: 200, full: 40 }
/** An endpoint that has accepted nothing for so long is disabled, in milliseconds. */
const longestFailingMs = 5 * 24 * 3_600_000

/** How many attempts had which outcome, since the process has started. */
export interface DeliveryCounts {
  delivered: number
  failed: number
  dead: number
}

/** Delivers what the cursor has behind it and gives it back. Ends early when the process stops or the lease is lost. */
export async function deliver(
  services: Services,
  held: Held,
  control: WorkControl,
  counts: DeliveryCounts,
): Promise<void> {
  const { lease, signal, isDraining } = control
  while (!signal.aborted) {
    if (isDraining()) return release(services.leaseDb, 'webhook_cursors', [held])
    await lease.confirm()
    const { epoch } = held
    try {
      if ((await round(services, held, control, counts)) === 'ended') return
    } catch (error) {
      if (!isStorageError(error)) throw error
      // What was sent may be committed or not: nothing of it can be committed under the new epoch.
      await readBack(lease, epoch, async () => {})
    }
  }
}

async function round(
  services: Services,
  held: Held,
  control: WorkControl,
  counts: DeliveryCounts,
): Promise<'on' | 'ended'> {
  const { db } = services
  const state = await loadCursor(services, held)
  if (!state) throw new LeaseLostError(held.id)
  const page = await readPage(services, held, state)
  if (!page) return 'on'
  const jobs = await jobsOf(services, state, page)
  if (jobs.length === 0 && !page.more) return (await end(services, held, state, page)) ? 'ended' : 'on'
  const { sent, isGone } = await sendJobs(services, state, jobs, control)
  const result = resultOf(state, page, sent)
  const done = await commitRound(db, held, state, result)
  if (!done) throw new LeaseLostError(held.id)
  if (done.told) wake(services, state.projectId)
  counts.delivered += result.delivered
  counts.failed += sent.length - result.delivered
  counts.dead += result.deliveries.filter(({ status }) => status === 'DEAD').length
  if (isGone) await disable(db, held, state, 'GONE')
  else if (done.failingMs > longestFailingMs) await disable(db, held, state, 'FAILING')
  else if (result.waitMs === null) return 'on'
  return 'ended'
}

/** The next events of the cursor; null when its place was gone and it goes on after it. */
async function readPage(services: Services, held: Held, state: CursorState): Promise<LogPage | null> {
  const { part, at, until, webhookId, full } = state
  if (until !== null && at.at >= until) return { events: [], end: at, more: false, isLast: true }
  const page = await readPart(services.db, part, at, full ? pageSize.full : pageSize.thin).catch(
    async (error: { code?: unknown }) => {
      if (error.code !== 'CURSOR_EXPIRED') throw error
      await goOnAfterLoss(services.db, held, state)
      services.log.warn({ webhookId }, 'the place of a webhook in the log is gone; it goes on after it')
      return null
    },
  )
  if (!page) return null
  const isWanted = (event: LogPage['events'][number]) =>
    (until === null || positionOf(event, part).at <= until) &&
    // News of a webhook is for others: its own would cause each other.
    (event.data as { webhookId?: string }).webhookId !== webhookId &&
    !isAboutDeliveries(event.type)
  return { ...page, events: page.events.filter(isWanted) }
}

/** What is to be sent: one event for an endpoint that is down, to find out whether it is back. */
async function jobsOf({ db }: Services, state: CursorState, page: LogPage): Promise<Job[]> {
  const { due, projectId, ordered, failures } = state
  const known = await eventsById(
    db,
    projectId,
    due.map(({ eventId }) => eventId),
  )
  const lost = due.filter(({ eventId }) => !known.has(eventId))
  if (lost.length > 0) await bury(db, lost)
  const again = due.flatMap((one) => {
    const event = known.get(one.eventId)
    return event ? [{ event, due: one }] : []
  })
  const fresh = page.events.map((event) => ({ event, due: null }))
  const jobs = ordered ? [...again, ...fresh] : inTurns(again, fresh)
  return !ordered && failures >= roundsUntilDown ? jobs.slice(0, 1) : jobs
}

async function sendJobs(
  services: Services,
  { full, part, ordered, target, webhookId, recipients }: CursorState,
  jobs: readonly Job[],
  { lease, signal, isDraining }: WorkControl,
) {
  const events = jobs.map(({ event }) => event)
  const messages = await messagesOf(services, events, {
    full,
    links: recipients && { webhookId, recipients },
    ofGeneration: part.generationId !== null,
  })
  const mayStart = () => lease.isSure() && !isDraining()
  return sendRound(jobs, messages, {
    ordered,
    send: (message) => send(services, target, message, { mayStart, signal }),
  })
}

/** Nothing is left to send now. False when the cursor must be read again. */
async function end(services: Services, held: Held, state: CursorState, page: LogPage): Promise<boolean> {
  const { db } = services
  if (page.isLast && state.isCallback && (await finishCallback(db, held, state))) return true
  if (page.isLast && !state.isCallback && (await finishReplay(db, held))) return true
  return park(db, held, state, page.end)
}

/** Delivers events to webhooks: the process that holds a cursor reads, sends and commits until none are left. */
import { sql } from '../../../store/db/sql.ts'
import { LeaseLostError, type HeldRow } from '../../../store/work/work.ts'
import type { Services } from '../../access/index.ts'
import { eventsById, isSent, type LogPage } from '../../events/index.ts'
import {
  readBehind,
  type Follower,
  type SendGuard,
  startFollower,
  type RunningFollower,
} from '../follower.ts'
import { newsInFeed, positionOf, type Places } from '../place.ts'
import { bury, commitRound, finishCallback, finishReplay, park } from './commit.ts'
import { disable, goOnAfterLoss } from './endings.ts'
import { wake } from './operations.ts'
import { messagesOf } from './payload.ts'
import { resultOf, inTurns, sendRound, type Job } from './result.ts'
import { roundsUntilDown } from './send.ts'
import { deliverOnce } from './mail.ts'
import { loadCursor, type CursorState } from './state.ts'
import { query, type Database } from '../../../store/db/database.ts'

/** How many events are read at once; fewer with arguments, of up to 256 KiB each. */
const pageSize = { thin: 200, full: 40 }
/** An endpoint that has accepted nothing for this long is disabled, in milliseconds. */
const longestFailingMs = 5 * 24 * 3_600_000

/** Attempts by outcome since the process started. */
interface DeliveryCounts {
  delivered: number
  failed: number
  dead: number
}

/** The positions of endpoints in the log. */
export const cursors: Places = {
  table: 'webhook_cursors',
  hasNews: sql`case
      when c.generation_id is not null then exists (
        select 1
        from generations as g
        where g.id = c.generation_id and g.last_seq > c.at
      )
      when c.at >= c.until then false
      else ${newsInFeed(
        sql`(c.types is null or c.types ? e.type)
          and (c.tool_call_id is null or e.data->>'toolCallId' = c.tool_call_id)`,
        sql`(c.types is null and c.tool_call_id is null)`,
      )}
    end`,
}

/** Delivers the events after a cursor. */
export function webhookFollower(services: Services, counts: DeliveryCounts): Follower {
  return {
    places: cursors,
    name: 'a webhook',
    // An endpoint that hangs holds only its own slot.
    slots: 256,
    round: (held, guard) => round(services, held, guard, counts),
  }
}

async function round(
  services: Services,
  held: HeldRow,
  guard: SendGuard,
  counts: DeliveryCounts,
): Promise<'on' | 'ended'> {
  const { db } = services
  const state = await loadCursor(services, held)
  if (!state) throw new LeaseLostError(held.id)
  const page = await readPage(services, held, state)
  if (!page) return 'on'
  const jobs = await jobsOf(services, state, page)
  if (jobs.length === 0 && !page.more) return (await end(services, held, state, page)) ? 'ended' : 'on'
  const { sent, isGone } = await sendJobs(services, state, jobs, guard)
  const result = resultOf(state, page, sent)
  const done = await commitRound(db, held, state, result)
  if (!done) throw new LeaseLostError(held.id)
  if (done.told) wake(services, state.projectId)
  counts.delivered += result.delivered
  counts.failed += sent.length - result.delivered
  counts.dead += result.deliveries.filter(({ status }) => status === 'DEAD').length
  const now = { id: held.id, epoch: done.epoch }
  if (isGone) await disable(db, now, state, 'GONE')
  else if (done.failingMs > longestFailingMs) await disable(db, now, state, 'FAILING')
  else if (result.waitMs === null) return 'on'
  return 'ended'
}

/** The next events after the cursor; null when its position was removed and it has moved on. */
async function readPage(services: Services, held: HeldRow, state: CursorState): Promise<LogPage | null> {
  const { part, at, until, webhookId, full } = state
  if (until !== null && at.at >= until) return { events: [], end: at, more: false, isLast: true }
  const page = await readBehind(services.db, part, at, full ? pageSize.full : pageSize.thin)
  // Without an event at its place there is nothing to go on after: the log of a removed run has ended.
  if (!page && part.generationId !== null && at.event === null)
    return { events: [], end: at, more: false, isLast: true }
  if (!page) {
    await goOnAfterLoss(services.db, held, state)
    services.log.warn({ webhookId }, 'the place of a webhook in the log is gone; it goes on after it')
    return null
  }
  const isWanted = (event: LogPage['events'][number]) =>
    (until === null || positionOf(event, part).at <= until) &&
    // A webhook is not sent events about itself: each delivery would cause another.
    (event.data as { webhookId?: string }).webhookId !== webhookId &&
    isSent(event.type)
  return { ...page, events: page.events.filter(isWanted) }
}

/** The events to send; for an endpoint that is down just one, as a probe. */
async function jobsOf(services: Services, state: CursorState, page: LogPage): Promise<Job[]> {
  const { projectId, ordered, failures } = state
  const failed = new Map(state.failed.map((one) => [one.eventId, one]))
  const fresh = page.events.map((event) => ({ event, isNext: true, failed: failed.get(event.id) ?? null }))
  for (const { event } of fresh) failed.delete(event.id)
  // An endpoint was stuck at one of these if it was ordered, or wanted other types, before.
  const behind = [...failed.values()]
  const known = await eventsById(
    services.db,
    projectId,
    behind.map(({ eventId }) => eventId),
  )
  const lost = behind.filter(({ eventId }) => !known.has(eventId))
  if (lost.length > 0) await bury(services, lost)
  const again = behind.flatMap((one) => {
    const event = known.get(one.eventId)
    return event ? [{ event, isNext: false, failed: one }] : []
  })
  const jobs = ordered ? [...again, ...fresh] : inTurns(again, fresh)
  return !ordered && failures >= roundsUntilDown ? jobs.slice(0, 1) : jobs
}

async function sendJobs(
  services: Services,
  { full, part, ordered, target, webhookId, recipients }: CursorState,
  jobs: readonly Job[],
  guard: SendGuard,
) {
  const events = jobs.map(({ event }) => event)
  const messages = await messagesOf(services, events, {
    full,
    links: recipients && { webhookId, recipients },
    ofGeneration: part.generationId !== null,
  })
  return sendRound(jobs, messages, {
    ordered,
    send: (message) => deliverOnce(services, target, message, guard),
  })
}

/** Ends the round; false when the cursor must be read again. */
async function end(services: Services, held: HeldRow, state: CursorState, page: LogPage): Promise<boolean> {
  const { db } = services
  if (page.isLast && state.isCallback && (await finishCallback(db, held, state))) return true
  if (page.isLast && !state.isCallback && (await finishReplay(db, held))) return true
  return park(db, held, state, page.end)
}

/** Starts the deliveries of this process. */
export interface WebhookWorker extends RunningFollower {
  counts: Readonly<DeliveryCounts>
  /** The age in seconds of the oldest event that an enabled webhook has not been sent yet. */
  lag(): Promise<number>
}

export function startWebhooks(services: Services): WebhookWorker {
  const counts: DeliveryCounts = { delivered: 0, failed: 0, dead: 0 }
  return {
    ...startFollower(services, webhookFollower(services, counts)),
    counts,
    lag: () => lagOf(services.db),
  }
}

/** The age in seconds of the oldest event that an enabled webhook has not been sent yet; 0 when there is none. */
export async function lagOf(db: Database): Promise<number> {
  const rows = await query<{ seconds: number }>(
    db,
    sql`select coalesce(extract(epoch from clock_timestamp() - min(next.created_at)), 0)::float8 as seconds
      from webhook_cursors as c
      cross join lateral (
        select e.created_at
        from events as e
        where e.project_id = c.project_id and e.position > c.at and not e.data ? 'descendantId'
          and (c.types is null or c.types ? e.type)
        order by e.position
        limit 1
      ) as next
      where c.status <> 'PAUSED' and c.id = c.webhook_id and c.generation_id is null and c.tool_call_id is null`,
  )
  return rows[0]!.seconds
}

/**
 * One round of an endpoint, and what the holder of its cursor writes after it: the new place, what came of each
 * delivery, receipts of the rest, and when it goes on.
 */
import { jsonb } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import type { EventType, RecordedEvent, LogPage } from '../../events/index.ts'
import {
  type Answer,
  type Message,
  type Outcome,
  probeDelayMs,
  retryDelayMs,
  roundsUntilDown,
} from './send.ts'
import type { CursorState, FailedDelivery } from './state.ts'
import { newId } from '../../../core/ids.ts'
import type { Position } from '../../../store/events/position.ts'
import { positionOf } from '../place.ts'

/** Receipts that are kept of a webhook. */
const keptReceipts = 1000
/** How long they are shown, and then deleted. */
export const receiptLife = sql`interval '3 days'`

/** A row of webhook_receipts to be written. */
interface Receipt {
  eventId: number
  type: EventType
  answer: Answer
}

/**
 * Writes receipts of the relation `c`, a cursor whose `delivered` counts them already. Places are written in their order,
 * so that two cursors of one webhook cannot wait for each other.
 */
export function writeReceipts(
  { id, webhookId }: Pick<CursorState, 'id' | 'webhookId'>,
  receipts: Receipt[],
): SQL {
  if (receipts.length === 0) return sql`select 1`
  // A replay begins elsewhere in the ring, where it covers little of what its webhook has just got.
  const from = id === webhookId ? 0 : Number.parseInt(id.slice(-6), 36) % keptReceipts
  return sql`insert into webhook_receipts (webhook_id, slot, event_id, type, at, answer)
    select c.webhook_id,
      ((c.delivered + ${from}::bigint + x.n - ${receipts.length}::bigint) % ${keptReceipts}::bigint)::int as slot,
      (x.receipt->>'eventId')::bigint, x.receipt->>'type', (x.receipt->'answer'->>'at')::timestamptz, x.receipt->'answer'
    from c, jsonb_array_elements(${jsonb(receipts)}) with ordinality as x(receipt, n)
    order by slot
    on conflict (webhook_id, slot) do update set
      event_id = excluded.event_id,
      type = excluded.type,
      at = excluded.at,
      answer = excluded.answer`
}

/** Requests to one endpoint at the same time. */
const width = 8
/** After this time a round begins nothing more, so that its result is written while the lease is young. Milliseconds. */
const roundMs = 3000

/** An event to be sent. */
export interface Job {
  event: RecordedEvent
  /** Whether it is the next one of the log; else it is behind the place of the cursor, because it failed there. */
  isNext: boolean
  /** What is known of it when it has failed before. */
  failed: FailedDelivery | null
}

interface SentJob extends Job {
  outcome: Outcome
}

export interface RoundOptions {
  ordered: boolean
  send(message: Message): Promise<Outcome>
}

/** Deliveries and new events in turns, so that neither waits for the other. */
export function inTurns(due: readonly Job[], fresh: readonly Job[]): Job[] {
  const most = Math.max(due.length, fresh.length)
  return Array.from({ length: most }, (_, i) => [fresh[i], due[i]])
    .flat()
    .filter((job) => job !== undefined)
}

/**
 * Sends a beginning of the jobs and returns it with the outcomes. `isGone`: the endpoint answered 410, and what was sent
 * at that time or later counts as not sent.
 */
export async function sendRound(
  jobs: readonly Job[],
  messages: readonly Message[],
  { ordered, send }: RoundOptions,
): Promise<{ sent: SentJob[]; isGone: boolean }> {
  const start = performance.now()
  const sent: SentJob[] = []
  let next = 0
  let stopped = false
  const worker = async () => {
    while (next < jobs.length && !stopped) {
      const i = next++
      const outcome = await send(messages[i]!)
      sent[i] = { ...jobs[i]!, outcome }
      if (stops(outcome, jobs[i]!, ordered) || performance.now() - start > roundMs) stopped = true
    }
  }
  await Promise.all(Array.from({ length: ordered ? 1 : width }, worker))
  const end = sent.findIndex(({ outcome }) => outcome.kind === 'withheld' || outcome.kind === 'gone')
  const isGone = sent.some(({ outcome }) => outcome.kind === 'gone')
  return { sent: end < 0 ? sent : sent.slice(0, end), isGone }
}

/** Whether nothing more may be sent in this round. */
function stops({ kind, askedMs }: Outcome, { isNext }: Job, ordered: boolean): boolean {
  if (kind === 'withheld' || kind === 'gone' || askedMs !== null) return true
  return ordered && kind === 'failed' && isNext
}

/** A row of webhook_deliveries to be written. */
export interface DeliveryRow {
  id: string
  eventId: number
  type: EventType
  status: 'PENDING' | 'DELIVERED' | 'DEAD'
  tries: number
  answer: Answer
  /** Milliseconds until it is sent again by itself; null: never, or with the place of the cursor. */
  nextMs: number | null
}

export interface RoundResult {
  at: Position
  /** The last position to send, when it is known by now. */
  until: number | null
  deliveries: DeliveryRow[]
  /** What was accepted at once. */
  receipts: Receipt[]
  delivered: number
  failures: number
  /** Milliseconds for which nothing is sent to the endpoint; null: it goes on at once. */
  waitMs: number | null
  /** Whether anything was accepted; null: nothing was sent. */
  succeeded: boolean | null
  /** Whether the endpoint is taken to be down after this round. */
  isDown: boolean
}

/** What a round over a page of the log has changed. `sent` is a beginning of the jobs. */
export function resultOf(state: CursorState, page: LogPage, sent: readonly SentJob[]): RoundResult {
  const { ordered } = state
  const fresh = sent.filter(({ isNext }) => isNext)
  const head = ordered ? fresh.find(({ outcome }) => outcome.kind === 'failed') : undefined
  const tries = head ? triesOf(head) : 0
  const isStuck = head !== undefined && !head.outcome.isFinal && retryDelayMs(tries, null) !== null
  const passed = isStuck ? fresh.slice(0, fresh.indexOf(head)) : fresh
  const delivered = sent.filter(({ outcome }) => outcome.kind === 'delivered').length
  const rows = sent
    .filter(({ outcome, failed }) => outcome.kind === 'failed' || failed !== null)
    .map((one) => (one === head && isStuck ? { ...rowOf(one), nextMs: null } : rowOf(one)))
  const end = endOf(state, page, passed)
  const pace = paceOf(state, sent, isStuck ? tries : null)
  return {
    ...end,
    until: page.isLast && state.part.toolCallId !== null ? page.end.at : state.until,
    deliveries: rows,
    receipts: state.isCallback ? [] : sent.flatMap((one) => (isReceipt(one) ? [receiptOf(one)] : [])),
    delivered,
    ...pace,
    succeeded: sent.length === 0 ? null : delivered > 0,
    isDown:
      sent.length > 0 &&
      delivered === 0 &&
      (pace.failures >= roundsUntilDown || rows.some(({ status }) => status === 'DEAD')),
  }
}

/** Callbacks are deleted when they have ended, so nobody could read theirs. */
const isReceipt = ({ outcome, failed }: SentJob) => outcome.kind === 'delivered' && failed === null

const receiptOf = ({ event, outcome }: SentJob): Receipt => ({
  eventId: event.id,
  type: event.type,
  answer: outcome.answer,
})

function endOf({ at, part }: CursorState, page: LogPage, passed: readonly SentJob[]): { at: Position } {
  if (passed.length === page.events.length) return { at: page.end }
  const last = passed.at(-1)
  return { at: last ? positionOf(last.event, part) : at }
}

/** `stuck`: failures of the event at the place of an ordered endpoint. */
function paceOf(
  { ordered, failures }: CursorState,
  sent: readonly SentJob[],
  stuck: number | null,
): Pick<RoundResult, 'failures' | 'waitMs'> {
  const askedMs = sent.reduce<number | null>(
    (most, { outcome }) => (outcome.askedMs === null ? most : Math.max(most ?? 0, outcome.askedMs)),
    null,
  )
  if (ordered) {
    const waitMs = stuck === null ? askedMs : retryDelayMs(stuck, askedMs)
    return { failures: stuck ?? 0, waitMs }
  }
  const allFailed = sent.length > 0 && sent.every(({ outcome }) => outcome.kind !== 'delivered')
  const rounds = allFailed ? failures + 1 : sent.length > 0 ? 0 : failures
  const probeMs = rounds >= roundsUntilDown ? probeDelayMs(rounds) : null
  return { failures: rounds, waitMs: probeMs === null ? askedMs : Math.max(probeMs, askedMs ?? 0) }
}

/** How often the event has failed, with this time. Each event has its own count. */
function triesOf({ failed, outcome }: SentJob): number {
  return (failed?.tries ?? 0) + (outcome.kind === 'failed' ? 1 : 0)
}

function rowOf(one: SentJob): DeliveryRow {
  const { event, failed, outcome } = one
  const tries = triesOf(one)
  const row = {
    id: failed?.id ?? newId('webhookDelivery'),
    eventId: event.id,
    type: event.type,
    tries,
    answer: outcome.answer,
  }
  if (outcome.kind === 'delivered') return { ...row, status: 'DELIVERED', nextMs: null }
  const nextMs = outcome.isFinal ? null : retryDelayMs(tries, outcome.askedMs)
  return { ...row, status: nextMs === null ? 'DEAD' : 'PENDING', nextMs }
}

/** What the holder of a cursor writes after a round: the new place, what came of each delivery, and when it goes on. Pure. */
import { newId } from '../../../core/ids.ts'
import type { Position } from '../../../store/events/position.ts'
import type { EventType, LogPage } from '../../events/index.ts'
import { positionOf } from '../place.ts'
import { probeDelayMs, retryDelayMs, roundsUntilDown } from './retry.ts'
import type { Sent } from './round.ts'
import type { Answer } from './send.ts'
import type { Receipt } from './receipts.ts'
import type { CursorState } from './state.ts'

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
export function resultOf(state: CursorState, page: LogPage, sent: readonly Sent[]): RoundResult {
  const { ordered } = state
  const fresh = sent.filter(({ isNext }) => isNext)
  const head = ordered ? fresh.find(({ outcome }) => outcome.kind === 'failed') : undefined
  const tries = head ? triesOf(head) : 0
  const isStuck = head !== undefined && retryDelayMs(tries, null) !== null
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
const isReceipt = ({ outcome, failed }: Sent) => outcome.kind === 'delivered' && failed === null

const receiptOf = ({ event, outcome }: Sent): Receipt => ({
  eventId: event.id,
  type: event.type,
  answer: outcome.answer,
})

function endOf({ at, part }: CursorState, page: LogPage, passed: readonly Sent[]): { at: Position } {
  if (passed.length === page.events.length) return { at: page.end }
  const last = passed.at(-1)
  return { at: last ? positionOf(last.event, part) : at }
}

/** `stuck`: failures of the event at the place of an ordered endpoint. */
function paceOf(
  { ordered, failures }: CursorState,
  sent: readonly Sent[],
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
function triesOf({ failed, outcome }: Sent): number {
  return (failed?.tries ?? 0) + (outcome.kind === 'failed' ? 1 : 0)
}

function rowOf(one: Sent): DeliveryRow {
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
  const nextMs = retryDelayMs(tries, outcome.askedMs)
  return { ...row, status: nextMs === null ? 'DEAD' : 'PENDING', nextMs }
}

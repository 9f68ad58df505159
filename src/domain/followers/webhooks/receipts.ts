/**
 * Receipts: what an endpoint accepted at once. They are written by the statement that moves the cursor, in a ring of
 * places for each webhook, so that no delivery costs a statement and nothing has to be deleted to make room.
 */
import { jsonb } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import type { EventType } from '../../events/index.ts'
import type { Answer } from './send.ts'
import type { CursorState } from './state.ts'

/** Receipts that are kept of a webhook. */
const keptReceipts = 1000
/** How long they are shown, and then deleted. */
export const receiptLife = sql`interval '3 days'`

/** A row of webhook_receipts to be written. */
export interface Receipt {
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

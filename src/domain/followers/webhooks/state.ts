/** Reads what the holder of a cursor works on: the place, the endpoint, and deliveries whose time has come. */
import { query } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import type { EventMark, Position } from '../../../store/events/position.ts'
import type { HeldRow } from '../../../store/work/work.ts'
import type { Services } from '../../access/index.ts'
import type { EventType, LogPart } from '../../events/index.ts'
import type { WebhookTarget } from './send.ts'
import { openSecret } from './signature.ts'
import type { Recipient } from './webhook.ts'

/** Deliveries that are sent again in one round. */
const mostDue = 50

/** A delivery that failed and is not settled. `tries`: how often it has failed. */
export interface FailedDelivery {
  id: string
  eventId: number
  type: EventType
  tries: number
}

export interface CursorState {
  id: string
  webhookId: string
  projectId: string
  part: LogPart
  at: Position
  until: number | null
  /** Rounds in a row in which everything failed; for an ordered endpoint, failures of the event at its place. */
  failures: number
  asked: number
  /** Deliveries whose time has come, and the one of the event at which an ordered endpoint is or was stuck. */
  failed: FailedDelivery[]
  target: WebhookTarget
  full: boolean
  recipients: Recipient[] | null
  ordered: boolean
  isCallback: boolean
}

interface Raw {
  webhookId: string
  projectId: string
  generationId: string | null
  toolCallId: string | null
  types: EventType[] | null
  at: number
  mark: EventMark | null
  until: number | null
  failures: number
  asked: number
  url: string
  secret: string
  previous: string | null
  full: boolean
  recipients: Recipient[] | null
  ordered: boolean
  isCallback: boolean
  failed: FailedDelivery[]
}

/** The state of a held cursor; null when another process holds it, or it was paused or deleted. */
export async function loadCursor(
  { db, masterKey }: Pick<Services, 'db' | 'masterKey'>,
  { id, epoch }: HeldRow,
): Promise<CursorState | null> {
  const [row] = await query<Raw>(
    db,
    sql`select c.webhook_id as "webhookId", c.project_id as "projectId", c.generation_id as "generationId",
        c.tool_call_id as "toolCallId", c.types, c.at::float8 as at, c.mark, c.until::float8 as until,
        c.failures, c.asked, w.url, w.secret, w."full", w.recipients, w.ordered, w.callback_of is not null as "isCallback",
        case when w.previous_until > now() then w.previous_secret end as previous,
        (
          select coalesce(jsonb_agg(d), '[]')
          from (
            select id, event_id as "eventId", type, tries
            from webhook_deliveries
            where cursor_id = c.id and (next_at <= now() or (next_at is null and status = 'PENDING'))
            order by next_at nulls first
            limit ${mostDue}
          ) as d
        ) as failed
      from webhook_cursors as c
      join webhooks as w on w.id = c.webhook_id
      where c.id = ${id} and c.epoch = ${epoch}::int and c.status = 'WORKING'`,
  )
  if (!row) return null
  const { webhookId, projectId, generationId, toolCallId, types, until, failures, asked, failed, url } = row
  const sealed = [row.secret, ...(row.previous ? [row.previous] : [])]
  return {
    id,
    webhookId,
    projectId,
    part: { projectId, generationId, toolCallId, types },
    at: { at: row.at, event: row.mark },
    until,
    failures,
    asked,
    failed,
    target: {
      projectId,
      webhookId,
      url,
      secrets: sealed.map((one) => openSecret(masterKey, webhookId, one)),
    },
    full: row.full,
    recipients: row.recipients,
    ordered: row.ordered,
    isCallback: row.isCallback,
  }
}

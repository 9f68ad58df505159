/** This process's follower that delivers to webhooks. */
import { query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import type { Services } from '../../access/index.ts'
import { startFollower, type RunningFollower } from '../follower.ts'
import { webhookFollower, type DeliveryCounts } from './deliver.ts'

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

/**
 * Followers of the log against retention: a removal waits for those that have not read what it removes, and after a time it
 * disables them, so that none misses an event without a word.
 */
import { jsonb, query, type Database } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import type { RemovedPlace } from '../../store/events/position.ts'
import { systemId } from '../access/index.ts'
import { record } from '../audit/index.ts'
import { appendProjectEvents, slackDisabled, webhookDisabled } from '../events/index.ts'
import type { Places } from './place.ts'
import { integrations } from './slack/integration.ts'
import { cursors } from './webhooks/deliver.ts'
import { pauseCursors } from './webhooks/endings.ts'

/** What is about to be removed from the log of a project. */
export interface RemovedPart {
  projectId: string
  /** The newest removed event in the feed. */
  newest: RemovedPlace
  /** Generations whose logs go. */
  generationIds: readonly string[]
}

/**
 * In the transaction of a removal: whether no follower misses an event by it, also none that gets it again later. Those that want nothing of what is behind them
 * are moved along. The others are behind: with `givesUp` they are disabled, with event and audit entry, else it is false,
 * and nothing may be removed.
 */
export async function passFollowers(tx: Database, part: RemovedPart, givesUp: boolean): Promise<boolean> {
  const feed = (more: SQL) =>
    sql`c.project_id = ${part.projectId} and c.status not in ('PAUSED', 'DISABLED') and ${more}`
  const inFeed = sql`c.at < ${part.newest.position}::bigint`
  const ofCursors = feed(sql`(
    case when c.generation_id is null then ${inFeed} else ${jsonb([...part.generationIds])} ? c.generation_id end)`)
  const found = [
    ...(await pass(tx, cursors, ofCursors, part)),
    ...(await pass(tx, integrations, feed(inFeed), part)),
  ]
  const late = found.filter(({ wants }) => wants)
  if (!givesUp && (await awaitsRetry(tx, part))) return false
  if (found.length === 0) return true
  if (!givesUp || found.some(({ wants }) => !wants)) return false
  for (const { owner } of late) await disableBehind(tx, part.projectId, owner)
  return true
}

interface Behind {
  /** The webhook, or the integration. */
  owner: string
  /** False for one that is in work and may only not have been given back. */
  wants: boolean
}

/**
 * Whether an endpoint that has refused one of these events gets it again: the delivery reads the event then. Those that wait
 * at the place of an ordered endpoint are behind by that.
 */
async function awaitsRetry(tx: Database, part: RemovedPart): Promise<boolean> {
  const isRemoved = part.generationIds.length
    ? sql`${jsonb([...part.generationIds])} ? e.generation_id`
    : sql`e.generation_id is null and e.position <= ${part.newest.position}::bigint`
  const rows = await query(
    tx,
    sql`select 1
      from webhook_cursors as c
      join webhook_deliveries as d on d.cursor_id = c.id and d.next_at is not null
      join events as e on e.id = d.event_id
      where c.project_id = ${part.projectId} and c.status not in ('PAUSED', 'DISABLED') and ${isRemoved}
      limit 1`,
  )
  return rows.length > 0
}

/** Moves rows along that want nothing, and returns the others. */
async function pass(
  tx: Database,
  { table, hasNews }: Places,
  which: SQL,
  { newest: { position, ...mark } }: RemovedPart,
): Promise<Behind[]> {
  const rows = sql.raw(table)
  const owner = sql.raw(table === 'webhook_cursors' ? 'c.webhook_id' : 'c.id')
  const ofGeneration = table === 'webhook_cursors' ? sql`c.generation_id is not null` : sql`false`
  return query<Behind>(
    tx,
    sql`with lagging as (
        select c.id, c.status, ${owner} as owner, ${ofGeneration} as "ofGeneration", ${hasNews} as wants
        from ${rows} as c
        where ${which}
        order by c.id
        for update of c
      ),
      moved as (
        update ${rows} as t set at = ${position}::bigint, mark = ${jsonb(mark)}
        from lagging as l
        where t.id = l.id and not l.wants and not l."ofGeneration" and l.status <> 'WORKING'
      )
      select owner, wants from lagging where wants or (status = 'WORKING' and not "ofGeneration")`,
  )
}

async function disableBehind(tx: Database, projectId: string, owner: string): Promise<void> {
  const isSlack = owner.startsWith('slk_')
  const off = sql`status = 'DISABLED', disabled_reason = 'BEHIND', disabled_at = now(), updated_at = now()`
  const changed = await query(
    tx,
    isSlack
      ? sql`update slack_integrations set ${off}, wake_at = null, epoch = epoch + 1
          where id = ${owner} and status <> 'DISABLED' returning id`
      : sql`with g as (
          update webhooks set ${off} where id = ${owner} and status = 'ENABLED' returning id
        ),
        c as (${pauseCursors})
        select id from g`,
  )
  if (changed.length === 0) return
  await appendProjectEvents(tx, projectId, [
    isSlack
      ? slackDisabled({ integrationId: owner, reason: 'BEHIND' })
      : webhookDisabled({ webhookId: owner, reason: 'BEHIND' }),
  ])
  await record(tx, {
    projectId,
    principalId: systemId,
    action: isSlack ? 'slack:Set' : 'webhooks:Update',
    resource: isSlack ? `slack/${projectId}` : `webhook/${owner}`,
    outcome: 'EXECUTED',
    details: { disabled: 'BEHIND' },
  })
}

/** This process's follower that shows approvals in Slack. */
import { query } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { LeaseLostError, type HeldRow } from '../../../store/work/work.ts'
import type { Services } from '../../access/index.ts'
import { slackDisabled } from '../../events/index.ts'
import {
  readBehind,
  recordBySystem,
  startFollower,
  type RunningFollower,
  type SendGuard,
} from '../follower.ts'
import { isHeld } from '../place.ts'
import type { SlackFailure } from './api.ts'
import {
  advance,
  followedEvents,
  giveBack,
  integrations,
  loadHeld,
  type HeldIntegration,
  type SlackDisabledReason,
} from './integration.ts'
import { showApprovals } from './messages.ts'

/** Few, so that what was shown is written down often: Slack takes about one message a second in a channel. */
const pageSize = 20
const shortestWaitMs = 2000
const longestWaitMs = 5 * 60_000

/** Starts the follower of Slack. Without integrations it costs a count when the log grows, once a second at most. */
export function startSlack(services: Services): RunningFollower {
  return startFollower(services, {
    places: integrations,
    name: 'a Slack integration',
    slots: 32,
    round: (held, guard) => round(services, held, guard),
  })
}

async function round(services: Services, held: HeldRow, guard: SendGuard): Promise<'on' | 'ended'> {
  const { db } = services
  const integration = await loadHeld(services, held)
  if (!integration) throw new LeaseLostError(held.id)
  const part = {
    projectId: integration.projectId,
    generationId: null,
    toolCallId: null,
    types: followedEvents,
  }
  const page = await readBehind(db, part, integration.at, pageSize)
  if (!page) {
    services.log.warn(
      { id: held.id },
      'the place of a Slack integration in the log is gone; it goes on after it',
    )
    await advance(db, held, { at: integration.at.at, event: null })
    return 'on'
  }
  const ids = page.events.map(({ data }) => (data as { approvalId: string }).approvalId)
  const failure = await showApprovals(services, integration, [...new Set(ids)], guard)
  if (failure?.kind === 'withheld') return 'on'
  if (failure) return afterFailure(services, held, integration, failure)
  await advance(db, held, page.end)
  if (page.more || page.events.length > 0) return 'on'
  await giveBack(db, held, null)
  return 'ended'
}

/** A token or channel that is of no use disables the integration; anything else is tried again at the same place. */
async function afterFailure(
  { db, log }: Services,
  held: HeldRow,
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
  by: HeldRow,
  { id, projectId }: HeldIntegration,
  reason: Exclude<SlackDisabledReason, 'BY_REQUEST'>,
  fault: string,
): Promise<void> {
  const details = { disabled: reason, fault }
  const change = { projectId, action: 'slack:Set', resource: `slack/${projectId}`, details }
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
        where ${isHeld(by)}
        returning id
      ),
      ${recordBySystem(change, slackDisabled({ integrationId: id, reason }))}
      select 1 from g`,
  )
}

/** What a Slack integration is, how its rows are read, and its place in the feed. */
import type { z } from 'zod'
import * as view from '../../../core/view.ts'
import { eq } from 'drizzle-orm'
import { entity, part, idOf } from '../../../core/shapes.ts'
import { type Database, query, jsonb } from '../../../store/db/database.ts'
import { slackIntegrations } from '../../../store/db/tables/verdicts.ts'
import { seal, unseal } from '../../secrets/index.ts'
import { sql } from '../../../store/db/sql.ts'
import type { EventMark, Position } from '../../../store/events/position.ts'
import { releaseEpoch, LeaseLostError, type HeldRow } from '../../../store/work/work.ts'
import type { Services } from '../../access/index.ts'
import {
  approvalDecided,
  approvalEscalated,
  approvalExpired,
  approvalExtended,
  approvalRequested,
  approvalVoided,
  approvalVoted,
} from '../../events/index.ts'
import { disabledReason, followerStatus } from '../webhooks/webhook.ts'
import { isHeld, moveTo, newsInFeed, giveBackFor, type Places } from '../place.ts'

export type SlackDisabledReason = 'BY_REQUEST' | 'TOKEN_REVOKED' | 'REFUSED' | 'BEHIND'

/** The Slack integration of a project, without its bot token and signing secret. */
export const integrationShape = part(
  'SlackIntegration',
  'The channel of Slack in which the questions of a project are posted, with buttons to decide. Bot token and ' +
    'signing secret cannot be read.',
  {
    id: idOf('slackIntegration', 'integration'),
    teamId: view.id('The id of the workspace.'),
    teamName: view.text('The name of the workspace when the token was set.'),
    channel: view.text('The id of the channel.'),
    showArguments: view.flag('Whether messages include the arguments of calls, writeOnly values masked.'),
    status: followerStatus.describe('Whether questions are posted.'),
    disabledReason: disabledReason
      .describe('Why the integration is disabled; null when it is not.')
      .nullable(),
    disabledAt: view.date('When the integration was disabled; null when it is not.').nullable(),
    fault: view.text('The error that Slack returned last; null after a success.').nullable(),
    verifiedAt: view
      .date(
        'When a press of the button of testSlackIntegration was last received with a valid signature; null when none was ' +
          'since a secret or the channel was set.',
      )
      .nullable(),
    createdBy: view.principal(
      'creator',
      'The principal that created the integration.',
      'The id of the API key or person that created the integration.',
    ),
    createdAt: view.date('When the integration was created.'),
    updatedAt: view.date('When the integration was last changed.'),
  },
)
export interface SlackIntegration extends z.output<typeof integrationShape> {
  projectId: string
}

export const SlackIntegration = entity<SlackIntegration>()('SlackIntegration')

/** Whose vote the press of a Slack user is. */
export const slackUser = part(
  'SlackUser',
  'The link of a Slack user to the principal whose votes its presses are.',
  {
    slackUserId: view.id('The id of the Slack user, such as U0123456789.'),
    principalId: view.principal(
      'principal',
      'The principal whose votes the presses are.',
      'The id of the API key or person whose votes the presses are.',
    ),
    createdBy: view.principal(
      'creator',
      'The principal that linked it.',
      'The id of the API key or person that linked it.',
    ),
    createdAt: view.date('When the Slack user was linked.'),
  },
)
export interface SlackUser extends z.output<typeof slackUser> {
  projectId: string
}

export const SlackUser = entity<SlackUser>()('SlackUser')

export type IntegrationRow = typeof slackIntegrations.$inferSelect

export function integrationOf(row: IntegrationRow): SlackIntegration {
  const {
    botToken: _b,
    signingSecret: _s,
    at: _a,
    mark: _m,
    failures: _f,
    wakeAt: _w,
    epoch: _e,
    ...rest
  } = row
  const status = row.status === 'DISABLED' ? 'DISABLED' : 'ENABLED'
  return { ...rest, status, disabledReason: row.disabledReason as SlackDisabledReason | null }
}

/** The row of a project's integration; undefined when it has none. Checks no permission. */
export async function rowOf(db: Database, projectId: string): Promise<IntegrationRow | undefined> {
  const [row] = await db.select().from(slackIntegrations).where(eq(slackIntegrations.projectId, projectId))
  return row
}

/** The row with this id. Checks no permission. */
export async function rowById(db: Database, id: string): Promise<IntegrationRow | undefined> {
  const [row] = await db.select().from(slackIntegrations).where(eq(slackIntegrations.id, id))
  return row
}

type Part = 'token' | 'signing'

export function sealPart(masterKey: Buffer, id: string, which: Part, text: string): string {
  return seal(masterKey, text, `slack/${id}/${which}`)
}

export function openPart(masterKey: Buffer, id: string, which: Part, sealed: string): string {
  return unseal(masterKey, sealed, `slack/${id}/${which}`)
}

/** The events after which a message is new or out of date. */
export const followedEvents: string[] = [
  approvalRequested,
  approvalVoted,
  approvalDecided,
  approvalExpired,
  approvalExtended,
  approvalEscalated,
  approvalVoided,
].map(({ type }) => type)

/** The places of integrations in the feed. */
export const integrations: Places = {
  table: 'slack_integrations',
  hasNews: newsInFeed(sql`${jsonb(followedEvents)} ? e.type`),
}

/** What the holder of an integration works on. */
export interface HeldIntegration {
  id: string
  projectId: string
  channel: string
  token: string
  showArguments: boolean
  failures: number
  at: Position
}

/** The state of a held integration; null when another process holds it, or it was changed, disabled or deleted. */
export async function loadHeld(
  { db, masterKey }: Pick<Services, 'db' | 'masterKey'>,
  by: HeldRow,
): Promise<HeldIntegration | null> {
  const [row] = await query<
    Omit<HeldIntegration, 'at'> & { position: number; mark: EventMark | null; sealed: string }
  >(
    db,
    sql`select id, project_id as "projectId", channel, bot_token as sealed, show_arguments as "showArguments", failures,
        at::float8 as position, mark
      from slack_integrations
      where ${isHeld(by)}`,
  )
  if (!row) return null
  const { position, mark, sealed, ...rest } = row
  const token = openPart(masterKey, row.id, 'token', sealed)
  return { ...rest, token, at: { at: position, event: mark } }
}

/** Moves the place of a held integration. Throws LeaseLostError when another process has it. */
export async function advance(db: Database, by: HeldRow, place: Position): Promise<void> {
  const rows = await query(
    db,
    sql`update slack_integrations set
        ${moveTo(place)},
        failures = 0,
        fault = null
      where ${isHeld(by)}
      returning 1`,
  )
  if (rows.length === 0) throw new LeaseLostError(by.id)
}

/** Gives the integration back: idle until there are events, or for a time after a failure. */
export async function giveBack(
  db: Database,
  by: HeldRow,
  after: { waitMs: number; fault: string } | null,
): Promise<void> {
  await query(
    db,
    after
      ? sql`update slack_integrations set
          failures = failures + 1,
          fault = ${after.fault},
          ${giveBackFor(after.waitMs)}
        where ${isHeld(by)}`
      : sql`update slack_integrations set status = 'IDLE', ${releaseEpoch}, wake_at = null where ${isHeld(by)}`,
  )
}

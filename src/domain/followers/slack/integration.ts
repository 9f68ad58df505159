/** What a Slack integration is, how its rows are read, and its place in the feed. */
import { eq } from 'drizzle-orm'
import { entity } from '../../../core/shapes.ts'
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
import { isHeld, moveTo, newsInFeed, giveBackFor, type Places } from '../place.ts'

export type SlackDisabledReason = 'BY_REQUEST' | 'TOKEN_REVOKED' | 'REFUSED' | 'BEHIND'

/** The Slack integration of a project, without its bot token and signing secret. */
export interface SlackIntegration {
  id: string
  projectId: string
  teamId: string
  teamName: string
  channel: string
  /** Whether messages include arguments, masked. */
  showArguments: boolean
  status: 'ENABLED' | 'DISABLED'
  disabledReason: SlackDisabledReason | null
  disabledAt: Date | null
  /** The error that Slack returned last; null after a success. */
  fault: string | null
  /** When a press of a test message last came back signed; null since a secret or the channel was set. */
  verifiedAt: Date | null
  createdBy: string
  createdAt: Date
  updatedAt: Date
}

export const SlackIntegration = entity<SlackIntegration>()('SlackIntegration')

/** Whose vote the press of a Slack user is. */
export interface SlackUser {
  projectId: string
  slackUserId: string
  principalId: string
  createdBy: string
  createdAt: Date
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

export function sealPart(masterKey: Buffer, id: string, part: Part, text: string): string {
  return seal(masterKey, text, `slack/${id}/${part}`)
}

export function openPart(masterKey: Buffer, id: string, part: Part, sealed: string): string {
  return unseal(masterKey, sealed, `slack/${id}/${part}`)
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

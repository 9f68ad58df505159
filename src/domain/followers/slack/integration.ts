/** What a Slack integration is, and how its rows are read. */
import { eq } from 'drizzle-orm'
import { entity } from '../../../core/shapes.ts'
import type { Database } from '../../../store/db/database.ts'
import { slackIntegrations } from '../../../store/db/tables/verdicts.ts'
import { seal, unseal } from '../../secrets/index.ts'

export const slackStatuses = ['ENABLED', 'DISABLED'] as const
export const slackDisabledReasons = ['BY_REQUEST', 'TOKEN_REVOKED', 'REFUSED', 'BEHIND'] as const
export type SlackDisabledReason = (typeof slackDisabledReasons)[number]

/** The Slack integration of a project, without its bot token and signing secret. */
export interface SlackIntegration {
  id: string
  projectId: string
  teamId: string
  teamName: string
  channel: string
  /** Whether messages include arguments, masked. */
  showArguments: boolean
  status: (typeof slackStatuses)[number]
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

/** The places of integrations in the feed: what their holder reads of a row, and how it moves it and gives it back. */
import { query, jsonb, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import type { EventMark, Position } from '../../../store/events/position.ts'
import { givenBack, LeaseLostError, type Held } from '../../../store/work/work.ts'
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
import { isHeld, moved, newsInFeed, waiting, type Places } from '../place.ts'
import { openPart } from './integration.ts'

/** The events after which a message is new or out of date. */
export const followed: string[] = [
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
  hasNews: newsInFeed(sql`${jsonb(followed)} ? e.type`),
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
  by: Held,
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
export async function advance(db: Database, by: Held, place: Position): Promise<void> {
  const rows = await query(
    db,
    sql`update slack_integrations set
        ${moved(place)},
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
  by: Held,
  after: { waitMs: number; fault: string } | null,
): Promise<void> {
  await query(
    db,
    after
      ? sql`update slack_integrations set
          failures = failures + 1,
          fault = ${after.fault},
          ${waiting(after.waitMs)}
        where ${isHeld(by)}`
      : sql`update slack_integrations set status = 'IDLE', ${givenBack}, wake_at = null where ${isHeld(by)}`,
  )
}

/** What a trigger is, and how its rows are read. */
import { inArray } from 'drizzle-orm'
import type { Page } from '../../core/page.ts'
import { entity } from '../../core/shapes.ts'
import type { Database } from '../../store/db/database.ts'
import { listPage } from '../../store/db/keyset.ts'
import { sql } from '../../store/db/sql.ts'
import { triggers } from '../../store/db/tables/triggers.ts'
import { assertMay, eachSeen, projectOf, reachable, type Ctx, type Services } from '../access/index.ts'

export const triggerKinds = ['SCHEDULE', 'HOOK'] as const

/** What starts runs of an agent by itself: a schedule, or a hook, which is a URL for signed messages. */
export interface Trigger {
  id: string
  projectId: string
  agentId: string
  name: string
  kind: (typeof triggerKinds)[number]
  status: 'ENABLED' | 'DISABLED'
  /** The prompt of a schedule, the template of a hook. */
  prompt: string
  /** Both are null for a hook. */
  cron: string | null
  timeZone: string | null
  /** Until then a message of a hook may be signed with the secret before the present one. */
  previousUntil: Date | null
  /** Who saved it last: its runs start with the rights that this principal has then. */
  requestedBy: string
  /** Null for a hook, and while it is disabled. */
  nextAt: Date | null
  lastRunId: string | null
  lastAt: Date | null
  /** Why the last tick or message started nothing; null when it did. */
  lastError: string | null
  /** Ticks before the last one at which no server ran. */
  missed: number
  version: number
  createdAt: Date
  updatedAt: Date
}

export const Trigger = entity<Trigger>()('Trigger')

export type TriggerRow = typeof triggers.$inferSelect

export const resourceOf = (id: string) => `trigger/${id}`

export function triggerOf(row: TriggerRow, { clock }: Pick<Services, 'clock'>): Trigger {
  const { secret: _s, previousSecret, previousUntil, wakeAt: _w, epoch: _e, ...rest } = row
  const turning = previousSecret !== null && previousUntil !== null && previousUntil.getTime() > clock.now()
  return { ...rest, previousUntil: turning ? previousUntil : null } as Trigger
}

/** Triggers by id, null for one that does not exist for the caller. Action `triggers:Get` on each. */
export async function getTriggers(ctx: Ctx, ids: readonly string[]): Promise<(Trigger | null)[]> {
  const rows =
    ids.length > 0
      ? await ctx.db
          .select()
          .from(triggers)
          .where(inArray(triggers.id, [...ids]))
      : []
  const seen = await eachSeen(ctx, ids, rows, 'triggers:Get', ({ id }) => resourceOf(id))
  return seen.map((row) => row && triggerOf(row, ctx))
}

/** The triggers of a project, or of one of its agents, newest first. Action `triggers:List`. */
export async function listTriggers(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; agentId?: string | null | undefined; page: Page },
): Promise<Trigger[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'triggers:List', projectId, 'trigger/*')
  const where = input.agentId ? sql`agent_id = ${input.agentId}` : undefined
  return (await listPage(ctx.db, triggers, projectId, input.page, where)).map((row) => triggerOf(row, ctx))
}

/** The row when it exists for the caller, else NOT_FOUND; in a transaction it can be locked. Checks no permission. */
export async function findTrigger(db: Database, ctx: Ctx, id: string, locks = false): Promise<TriggerRow> {
  const rows = db
    .select()
    .from(triggers)
    .where(sql`id = ${id}`)
  const [row] = await (locks ? rows.for('update') : rows)
  return reachable(ctx, row, 'trigger', id)
}

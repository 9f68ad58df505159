/** What a trigger is: its rows, when its schedule fires, the prompt of its messages, and the upkeep of all that. */
import type { z } from 'zod'
import * as view from '../../core/view.ts'
import { inArray, eq } from 'drizzle-orm'
import type { Page } from '../../core/page.ts'
import { entity, part, idOf, choice } from '../../core/shapes.ts'
import { type Database, query } from '../../store/db/database.ts'
import { listPage } from '../../store/db/lists.ts'
import { sql } from '../../store/db/sql.ts'
import { triggers } from '../../store/db/tables/triggers.ts'
import { assertMay, visibleRows, projectOf, reachable, type Ctx, type Services } from '../access/index.ts'
import { isJsonObject, type Json, writeJson } from '../../core/json.ts'
import { openSecret, sealSecret } from '../followers/index.ts'
import { Cron } from 'croner'

const triggerKind = choice('TriggerKind', 'What starts the generations of a trigger.', {
  SCHEDULE: 'The times of a cron line.',
  HOOK: 'Signed messages to a URL.',
})

/** What starts runs of an agent by itself: a schedule, or a hook, which is a URL for signed messages. */
export const triggerShape = part(
  'Trigger',
  'What starts generations of an agent by itself: a schedule, or a URL for signed messages.',
  {
    id: idOf('trigger'),
    agentId: view.id('The id of the agent.'),
    name: view.text('What the trigger is called.'),
    kind: triggerKind.describe('What starts the generations of the trigger.'),
    prompt: view.text('The prompt of a schedule, the template of a URL.'),
    cron: view.text('The times of a schedule; null for a URL.').nullable(),
    timeZone: view.text('The IANA time zone in which cron is read; null for a URL.').nullable(),
    previousUntil: view
      .under(
        'previousSecretUntil',
        view.date(
          'The time until which messages may be signed with the previous secret; null when it does not count.',
        ),
      )
      .nullable(),
    requestedBy: view.principal(
      'requestedBy',
      'The principal that saved it last, with whose rights its generations start.',
    ),
    lastRunId: view
      .object(
        'lastGeneration',
        'Generation',
        'The generation that was started last; null when there was none, or it is hidden from this API key.',
      )
      .nullable(),
    lastAt: view
      .date('When the trigger last started a generation or failed to; null when it never has.')
      .nullable(),
    lastError: view.text('Why the trigger last started nothing; null when it did.').nullable(),
    missed: view.int(
      'The number of times before the last one at which no server ran; 100 means 100 or more. One generation is ' +
        'started for all of them.',
    ),
    version: view.int('The number of changes, from 1; for expectedVersion.'),
    createdAt: view.date('When the trigger was created.'),
    updatedAt: view.date('When the trigger was last changed.'),
  },
)
export interface Trigger extends z.output<typeof triggerShape> {
  projectId: string
  status: 'ENABLED' | 'DISABLED'
  /** Null for a hook, and while it is disabled. */
  nextAt: Date | null
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
  const seen = await visibleRows(ctx, ids, rows, 'triggers:Get', ({ id }) => resourceOf(id))
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

/** `{.}` is the whole body. Other braces are text. */
const placeholder = /\{(\.|[\w$-]+(?:\.[\w$-]+)*)\}/g

/** The text with texts as they are and other values as JSON, or the first path that leads nowhere. */
export function fillTemplate(template: string, body: Json): { text: string } | { missing: string } {
  const paths = [...template.matchAll(placeholder)].map((match) => match[1]!)
  const missing = paths.find((path) => valueAt(body, path) === undefined)
  if (missing !== undefined) return { missing }
  return {
    text: template.replace(placeholder, (_all, path: string) => {
      const value = valueAt(body, path)
      return typeof value === 'string' ? value : writeJson(value)
    }),
  }
}

function valueAt(body: Json, path: string): Json | undefined {
  if (path === '.') return body
  let value: Json | undefined = body
  for (const name of path.split('.')) {
    if (Array.isArray(value)) value = /^\d+$/.test(name) ? value[Number(name)] : undefined
    else
      value =
        value !== undefined && isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  }
  return value
}

/** Each may be as long as the body. */
const mostPlaceholders = 50

/** What is wrong with a template, as a message that follows a path; null: nothing. */
export function faultOfTemplate(template: string): string | null {
  const count = template.match(placeholder)?.length ?? 0
  return count > mostPlaceholders ? `must have at most ${mostPlaceholders} placeholders` : null
}

/** Encrypts every signing secret with another master key, in the caller's transaction. Returns the number of hooks. */
export async function resealTriggers(tx: Database, from: Buffer, to: Buffer): Promise<number> {
  const rows = await tx
    .select()
    .from(triggers)
    .where(sql`kind = 'HOOK'`)
    .for('update')
  for (const { id, secret, previousSecret } of rows) {
    const again = (sealed: string | null) => sealed && sealSecret(to, id, openSecret(from, id, sealed))
    await tx
      .update(triggers)
      .set({ secret: again(secret), previousSecret: again(previousSecret) })
      .where(eq(triggers.id, id))
  }
  return rows.length
}

/**
 * Forgets, some at a time, what started runs a week ago: an old message is refused by its time stamp. What started a run that
 * has not ended is kept, for the next tick asks.
 */
export async function forgetOldStarts(db: Database): Promise<void> {
  await query(
    db,
    sql`delete from trigger_starts
      where ctid = any(array(
        select ctid
        from trigger_starts
        where at < now() - interval '7 days'
          and not exists (select 1 from generations as g where g.id = generation_id and g.finished_at is null)
        order by at
        limit 1000
      ))`,
  )
}

/** The shortest time between two ticks, in minutes: each is a run, with all that a model costs. */
export const leastGapMinutes = 5
/** So many missed ticks are counted at most. */
export const mostMissed = 100

const timed = (line: string, timeZone: string) =>
  new Cron(line, { timezone: timeZone, mode: '5-part', paused: true, fixedTimeRule: 'no-wildcard' })

/** A year without changes of the clock, in UTC, in which the gaps of a line are measured. */
const measuredFrom = new Date('2028-01-01T00:00:00Z')
/** As many as a day can have. */
const measuredTicks = (24 * 60) / leastGapMinutes + 1

/** Why no schedule can have this line, as a message that follows a path; null: it can. */
export function faultOfLine(line: string): string | null {
  if (!/^\S+( +\S+){4}$/.test(line))
    return 'must have five fields: minute, hour, day of month, month, day of week'
  let ticks: Date[]
  try {
    ticks = timed(line, 'UTC').nextRuns(measuredTicks, measuredFrom)
  } catch {
    return 'is not a cron line, such as 30 9 * * MON-FRI'
  }
  if (ticks.length === 0) return 'never fires: no such day comes'
  const often = ticks.some((tick, at) => at > 0 && +tick - +ticks[at - 1]! < leastGapMinutes * 60_000)
  return often ? `fires more often than every ${leastGapMinutes} minutes` : null
}

/** Why this is no time zone, as a message that follows a path; null: it is one. */
export function faultOfZone(timeZone: string): string | null {
  try {
    return Intl.DateTimeFormat('en', { timeZone }) && null
  } catch {
    return 'is not an IANA time zone, such as Europe/Berlin'
  }
}

/**
 * The next ticks after a moment. A time that the clock leaves out comes at the end of the gap; one that it shows twice
 * comes once, and a line with a wildcard or a step in hour or minute goes on through both hours.
 */
export function ticksAfter(line: string, timeZone: string, after: Date, count: number): Date[] {
  return timed(line, timeZone).nextRuns(count, after)
}

/** What a schedule that was to fire at `first`, which is not after `now`, does now. */
export interface DueTick {
  /** The newest tick until now: it starts a run. */
  tick: Date
  /** How many ticks before it are left out, at most `mostMissed`. */
  missed: number
  /** The tick after now; null when none comes. */
  next: Date | null
}

export function dueTick(line: string, timeZone: string, first: Date, now: Date): DueTick {
  const cron = timed(line, timeZone)
  // The reference itself does not count.
  const [before] = cron.previousRuns(1, new Date(now.getTime() + 1))
  const tick = before && before > first ? before : first
  const missed = tick > first ? 1 + cron.nextRuns(mostMissed - 1, first).filter((at) => at < tick).length : 0
  return { tick, missed, next: cron.nextRun(now) }
}

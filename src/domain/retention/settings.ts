/** The settings of a project's retention, and how far it is. */
import * as view from '../../core/view.ts'
import { z } from 'zod'
import { AppError, invalidAt } from '../../core/errors.ts'
import { entity, part } from '../../core/shapes.ts'
import { atomically, query } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { retentions } from '../../store/db/tables/retention.ts'
import {
  assertMay,
  assertStillValid,
  inProject,
  operation,
  projectOf,
  recordChange,
  type Ctx,
} from '../access/index.ts'
import { appendProjectEvents, retentionChanged } from '../events/index.ts'
import {
  removedCounts,
  type RemovedCounts,
  lockRetention,
  makeDue,
  wakeSweep,
  type RetentionRow,
} from './lease.ts'

/** What goes after the days of each setting. */
export const dayMeanings = {
  runDays:
    'The days after which finished generations, with everything below them, and tool calls outside generations go',
  eventDays:
    'The days after which events go that belong to no generation; the project feed begins after them',
  fileDays: 'The days after which files go that no generation, thread or call refers to',
  deliveryDays: 'The days after which settled webhook deliveries go; they go after 30 days at the latest',
  auditDays: 'The days after which audit entries go, at least 30 and as many as the others',
} as const
type DayName = keyof typeof dayMeanings
export type Days = Record<DayName, number | null>
/** The settings by name. */
const retentionFields = Object.keys(dayMeanings) as DayName[]

const dayShapes = Object.fromEntries(
  retentionFields.map((name) => [name, view.int(`${dayMeanings[name]}; null for never.`).nullable()]),
) as Record<DayName, z.ZodNullable<ReturnType<typeof view.int>>>

export const retentionShape = part(
  'Retention',
  'The ages at which a project removes what is finished, and the state of its sweeps. Nothing is removed by default.',
  {
    ...dayShapes,
    version: view.int('The number of changes, from 1; for expectedVersion.'),
    isSweeping: view.under('sweeping', view.flag('Whether a sweep is under way.')),
    lastStartedAt: view.date('When the last sweep began; null before the first.').nullable(),
    lastFinishedAt: view.date('When a sweep last ended; null before the first.').nullable(),
    nextAt: view
      .date('When the next sweep begins, or the one under way is taken over; null for never.')
      .nullable(),
    lastRemoved: removedCounts.describe('What the sweep under way, or the last one, has removed.'),
    allRemoved: removedCounts.describe('What was removed in the project in all.'),
    removedUntil: view
      .date(
        'When the newest removed generation was created: statistics of earlier times are not complete. Null while none was.',
      )
      .nullable(),
  },
)
export interface Retention extends z.output<typeof retentionShape> {
  projectId: string
}

export const Retention = entity<Retention>()('Retention')

/** Of a project that removes nothing. */
export const noDays: Days = {
  runDays: null,
  eventDays: null,
  fileDays: null,
  deliveryDays: null,
  auditDays: null,
}

function retentionOf(projectId: string, row: RetentionRow | undefined): Retention {
  if (!row)
    return {
      ...noDays,
      projectId,
      version: 1,
      isSweeping: false,
      lastStartedAt: null,
      lastFinishedAt: null,
      nextAt: null,
      lastRemoved: {},
      allRemoved: {},
      removedUntil: null,
    }
  return {
    ...row,
    isSweeping: row.status === 'SWEEPING',
    nextAt: row.wakeAt,
    lastRemoved: row.lastRemoved as RemovedCounts,
    allRemoved: row.allRemoved as RemovedCounts,
  }
}

/** The retention of a project. Action `retention:Get`. */
export async function getRetention(
  ctx: Ctx,
  input: { projectId?: string | null | undefined },
): Promise<Retention> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'retention:Get', projectId, `project/${projectId}`)
  const [row] = await selectRows(ctx.db, retentions, sql`where id = ${projectId}`)
  return retentionOf(projectId, row)
}

const longest = 36_500
/** The audit log outlives what it tells of. */
const leastAuditDays = 30

const fault = `must be a whole number of days from 1 to ${longest}, or 0 for never`
const days = (name: keyof Days) =>
  z.int(fault).min(0, fault).max(longest, fault).describe(`${dayMeanings[name]}; 0 for never.`).nullish()

export const daysShape = z.object({
  runDays: days('runDays'),
  eventDays: days('eventDays'),
  fileDays: days('fileDays'),
  deliveryDays: days('deliveryDays'),
  auditDays: days('auditDays'),
})

/** The days after a change: those that are not given stay, 0 is never. INVALID where the audit log would go before the rest. */
export function mergedDays(before: Days, given: z.output<typeof daysShape>): Days {
  const merged = Object.fromEntries(
    retentionFields.map((field) => [field, (given[field] ?? before[field] ?? 0) || null]),
  ) as Days
  const { auditDays, ...others } = merged
  const least = Math.max(leastAuditDays, ...Object.values(others).map((value) => value ?? 0))
  if (auditDays !== null && auditDays < least)
    throw invalidAt(
      ['input', 'auditDays'],
      `must be at least ${least} days, or 0 for never: the audit log is kept for 30 days or more, and as long as the rest`,
    )
  return merged
}

export const setRetention = operation({
  name: 'setRetention',
  does:
    'Changes after how long a project removes what; the first sweep begins at once, and what it removes cannot be ' +
    'brought back. Idempotent.',
  permission: 'retention:Set',
  input: z
    .object({
      ...inProject,
      ...daysShape.shape,
      expectedVersion: z
        .int()
        .describe('The version that the change is for; another one is a conflict.')
        .nullish(),
    })
    .describe('The days after which what is removed; what is not given stays as it is.'),
  payload: z
    .object({ retention: Retention.describe('The retention after the mutation.') })
    .describe('The retention after the mutation.'),
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(ctx, given) {
    const projectId = await projectOf(ctx, given.projectId)
    const resource = `project/${projectId}`
    await assertMay(ctx, 'retention:Set', projectId, resource)
    const row = await atomically(ctx.db, async (tx) => {
      await assertStillValid(tx, ctx.principal)
      const before = await lockRetention(tx, projectId)
      if (typeof given.expectedVersion === 'number' && given.expectedVersion !== before.version)
        throw new AppError('CONFLICT', 'The retention was changed by another request. Read it again.', {
          conflictingId: projectId,
        })
      const after = mergedDays(before, given)
      if (retentionFields.every((field) => after[field] === before[field])) return before
      await query(
        tx,
        sql`update retentions set
            run_days = ${after.runDays}::int,
            event_days = ${after.eventDays}::int,
            file_days = ${after.fileDays}::int,
            delivery_days = ${after.deliveryDays}::int,
            audit_days = ${after.auditDays}::int,
            version = version + 1,
            updated_at = now()
          where id = ${projectId}`,
      )
      await makeDue(tx, projectId)
      await recordChange(tx, ctx, {
        projectId,
        action: 'retention:Set',
        resource,
        details: { ...after },
      })
      await appendProjectEvents(tx, projectId, [retentionChanged({ decidedBy: ctx.principal.id })])
      const [changed] = await selectRows(tx, retentions, sql`where id = ${projectId}`)
      return changed!
    })
    wakeSweep(ctx, projectId)
    return { retention: retentionOf(projectId, row) }
  },
})

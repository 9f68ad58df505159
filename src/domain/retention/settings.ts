/** The settings of a project's retention, and how far it is. */
import { z } from 'zod'
import { check } from '../../core/check.ts'
import { AppError, invalidAt } from '../../core/errors.ts'
import { atomically, query } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { retentions } from '../../store/db/tables/retention.ts'
import { assertMay, assertStillValid, projectOf, recordChange, type Ctx } from '../access/index.ts'
import { appendProjectEvents, retentionChanged } from '../events/index.ts'
import type { Removed } from './kinds.ts'
import { lockRetention, makeDue, wakeSweep, type RetentionRow } from './lease.ts'

export const retentionFields = ['runDays', 'eventDays', 'fileDays', 'deliveryDays', 'auditDays'] as const
export type Days = Record<(typeof retentionFields)[number], number | null>

export interface Retention extends Days {
  projectId: string
  version: number
  isSweeping: boolean
  lastStartedAt: Date | null
  lastFinishedAt: Date | null
  /** When the next sweep begins; null: never. */
  nextAt: Date | null
  lastRemoved: Removed
  allRemoved: Removed
  /** Statistics of times before are not complete; null: nothing was removed. */
  removedUntil: Date | null
}

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
    lastRemoved: row.lastRemoved as Removed,
    allRemoved: row.allRemoved as Removed,
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

const days = z
  .number()
  .refine(
    (value) => Number.isInteger(value) && value >= 0 && value <= longest,
    `must be a whole number of days from 1 to ${longest}, or 0 for never`,
  )
  .nullish()

export const daysShape = z.object({
  runDays: days,
  eventDays: days,
  fileDays: days,
  deliveryDays: days,
  auditDays: days,
})

const shape = daysShape.extend({ projectId: z.string().nullish(), expectedVersion: z.int().nullish() })

export type SetRetentionInput = z.input<typeof shape>

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

/**
 * Changes after how many days what is removed; 0: never. A sweep begins at once. Action `retention:Set`. INVALID for anything
 * else than a whole number of days, CONFLICT for another `expectedVersion`. Idempotent.
 */
export async function setRetention(ctx: Ctx, input: SetRetentionInput): Promise<Retention> {
  const given = check(shape, input)
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
  return retentionOf(projectId, row)
}

/** How long generations may have taken and what they may have cost, to be listed. */
import { and } from 'drizzle-orm'
import { z } from 'zod'
import { check } from '../../core/check.ts'
import { invalidAt } from '../../core/errors.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { generations } from '../../store/db/tables/generations.ts'
import { totalCostOf } from './nesting/tree.ts'

const bound = (only: string) =>
  z.number('must be a number').min(0, 'must not be negative').nullish().describe(only)

const took =
  'from startedAt to finishedAt, or until now if they still run; one that has not started matches no such bound.'
const cost =
  'child runs included, at the prices of now, as totalCost says; one whose totalCost is null matches no such bound.'

/** The fields of a filter; each bound is part of what it allows. */
export const boundFields = {
  minDurationSeconds: bound(`Only generations that took at least so many seconds ${took}`),
  maxDurationSeconds: bound(
    `Only generations that took at most so many seconds ${took} It is refused when it is less than minDurationSeconds.`,
  ),
  minCost: bound(`Only generations that cost at least so many USD, ${cost}`),
  maxCost: bound(
    `Only generations that cost at most so many USD, ${cost} It is refused when it is less than minCost.`,
  ),
}
const shape = z.object(boundFields)
type Bounds = z.output<typeof shape>

/** The condition of the bounds; undefined without one. INVALID for a negative one, and for a maximum below its minimum. */
export function withinBounds(given: Bounds): SQL | undefined {
  const bounds = check(shape, given, ['filter'])
  const { id, startedAt, finishedAt } = generations
  const seconds = sql`extract(epoch from coalesce(${finishedAt}, now()) - ${startedAt})`
  return and(
    within(seconds, bounds, 'minDurationSeconds', 'maxDurationSeconds'),
    within(totalCostOf(id), bounds, 'minCost', 'maxCost'),
  )
}

/** The condition that a value is known and lies between two bounds. */
function within(value: SQL, bounds: Bounds, least: keyof Bounds, most: keyof Bounds): SQL | undefined {
  const { [least]: min, [most]: max } = bounds
  if (min == null && max == null) return undefined
  if (min != null && max != null && max < min)
    throw invalidAt(['filter', most], `must not be less than ${least}`)
  return sql`${value}::float8 between ${min ?? 0}::float8 and ${max ?? 'Infinity'}::float8`
}

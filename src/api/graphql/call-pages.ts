/** Lists of calls and steps that have a maximum, and go on behind the last entry of a page. */
import { invalidAt } from '../../core/errors.ts'
import type { ToolCall } from '../../domain/tool-calls/index.ts'
import { isGiven } from './connections.ts'
import type { Refs } from './refs.ts'

/** The arguments that page a list of calls. */
export function callPage(t: { arg: Arguments }, max: number) {
  return {
    first: t.arg.int({ description: `At most so many, 0 to ${max}; ${max} when left out.` }),
    after: t.arg.id({ description: 'Only calls behind the one with this id.' }),
  }
}

type Arguments = Parameters<NonNullable<Parameters<Refs['builder']['queryField']>[1]>>[0]['arg']

/** What such a list costs: as many entries as are asked for. */
export function firstOf(max: number) {
  return ({ first }: { first?: number | null | undefined }) => ({
    field: 1,
    multiplier: Math.max(1, Math.min(first ?? max, max)),
  })
}

/** The size of a page; INVALID beyond the maximum. */
export function sizeOf(first: number | null | undefined, max: number): number {
  if (isGiven(first) && (first < 0 || first > max)) throw invalidAt(['first'], `must be from 0 to ${max}`)
  return first ?? max
}

/** The page of a list of calls that is there as a whole. */
export function callsAfter(
  calls: ToolCall[],
  { first, after }: { first?: number | null | undefined; after?: string | null | undefined },
  max: number,
): ToolCall[] {
  const size = sizeOf(first, max)
  const at = isGiven(after) ? calls.findIndex((call) => call.id === after) : -1
  if (isGiven(after) && at < 0) throw invalidAt(['after'], 'must be the id of a call in this list')
  return calls.slice(at + 1, at + 1 + size)
}

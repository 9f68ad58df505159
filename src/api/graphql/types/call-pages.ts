/** Paging of bounded lists of tool calls and steps, by the id of the last entry. */
import { invalidAt } from '../../../core/errors.ts'
import type { ToolCall } from '../../../domain/tool-calls/index.ts'
import { isGiven } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'

/** The arguments that page a list of tool calls. */
export function callPage(t: { arg: Arguments }, max: number) {
  return {
    first: t.arg.int({ description: `Maximum number of tool calls, 0 to ${max}. Default: ${max}.` }),
    after: t.arg.id({ description: 'Only tool calls after the one with this id.' }),
  }
}

type Arguments = Parameters<NonNullable<Parameters<Refs['builder']['queryField']>[1]>>[0]['arg']

/** The cost of such a list: the requested number of entries. */
export function firstOf(max: number) {
  return ({ first }: { first?: number | null | undefined }) => ({
    field: 1,
    multiplier: Math.max(1, Math.min(first ?? max, max)),
  })
}

/** The size of a page. Throws INVALID below 0 or above the maximum. */
export function sizeOf(first: number | null | undefined, max: number): number {
  if (isGiven(first) && (first < 0 || first > max)) throw invalidAt(['first'], `must be from 0 to ${max}`)
  return first ?? max
}

/** A page of a list of tool calls that is loaded as a whole. Throws INVALID for an `after` that is not in the list. */
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

/** What the list of decided questions is narrowed to, as the address has it and as the API takes it. Pure. */
import { boundsOf, membersOf, rangeOf, type TimeRange } from '../../parts/time-range.ts'
import { t } from '../../texts/texts.tsx'

export const outcomes = ['APPROVED', 'REJECTED', 'EXPIRED', 'VOIDED'] as const
export type Outcome = (typeof outcomes)[number]

export const groupings = [
  { by: null, name: t('Not grouped') },
  { by: 'TOOL', name: t('By tool') },
  { by: 'AGENT', name: t('By agent') },
] as const

export interface DecidedFilter {
  search: string
  statuses: readonly Outcome[]
  toolId: string | null
  agentId: string | null
  decidedBy: string | null
  /** When it was settled. */
  range: TimeRange
  /** Newest question first instead of newest outcome. */
  isByQuestion: boolean
  by: 'TOOL' | 'AGENT' | null
}

export function filterOf(given: URLSearchParams): DecidedFilter {
  const word = (name: string) => given.get(name)?.trim() || null
  const chosen = given.getAll('status')
  return {
    search: given.get('q') ?? '',
    statuses: outcomes.filter((one) => chosen.includes(one)),
    toolId: word('tool'),
    agentId: word('agent'),
    decidedBy: word('by'),
    range: rangeOf(given),
    isByQuestion: given.get('sort') === 'asked',
    by: groupings.find((one) => one.by?.toLowerCase() === given.get('group'))?.by ?? null,
  }
}

/** The members of the address without a filter; what is shown stays. */
export const noFilter = {
  q: null,
  status: null,
  tool: null,
  agent: null,
  by: null,
  ...membersOf({ since: null, from: null, to: null }),
}

export const isNarrowed = (given: URLSearchParams) => Object.keys(noFilter).some((name) => given.has(name))

/** The filter as the API takes it. What waits is not in the list. */
export function inputOf(filter: DecidedFilter, now: number) {
  const { createdAfter, createdBefore } = boundsOf(filter.range, now)
  return {
    search: filter.search.trim() || null,
    statuses: filter.statuses.length === 0 ? [...outcomes] : [...filter.statuses],
    toolId: filter.toolId,
    agentId: filter.agentId,
    decidedBy: filter.decidedBy,
    settledAfter: createdAfter,
    settledBefore: createdBefore,
  }
}

/** Which runs stand in the list: the newest first, and never moved under the pointer. Pure. */
import { withMembers } from '../../parts/members.ts'
import { anyTime, membersOf, rangeOf, type TimeRange } from '../../parts/time-range.ts'
import { t } from '../../texts/texts.tsx'

/** The ids to show, and how many newer ones wait. With `isHeld`, rows join only behind the first one that stood there. */
export function placeRuns(
  shown: readonly string[],
  read: readonly string[],
  isHeld: boolean,
): { ids: readonly string[]; waiting: number } {
  if (!isHeld || shown.length === 0) return { ids: read, waiting: 0 }
  const known = new Set(shown)
  const first = read.findIndex((id) => known.has(id))
  // Nothing of what stood there is left: there is nothing to hold.
  if (first < 0) return { ids: read, waiting: 0 }
  return { ids: read.slice(first), waiting: first }
}

export const runStatuses = [
  'QUEUED',
  'RUNNING',
  'AWAITING_APPROVAL',
  'REQUIRES_ACTION',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'EXPIRED',
] as const
export type RunStatus = (typeof runStatuses)[number]

/** What the numbers of the list are divided by. */
export const runGroupings = [
  { by: null, name: t('Not grouped') },
  { by: 'agent', name: t('By agent') },
  { by: 'outcome', name: t('By outcome') },
] as const

/** Bounds of how long a run took, in whole seconds, and of what it cost, in US dollars: by the names of the API, and of the address. */
export const boundNames = ['minDurationSeconds', 'maxDurationSeconds', 'minCost', 'maxCost'] as const
export type Bounds = Record<(typeof boundNames)[number], number | null>
const boundsBy = (valueOf: (name: keyof Bounds) => number | null) =>
  Object.fromEntries(boundNames.map((name) => [name, valueOf(name)])) as Bounds

/** What the list is narrowed to, and how its numbers are grouped; it is the query of the address. */
export interface RunFilter {
  statuses: readonly RunStatus[]
  text: string
  agentId: string | null
  requestedBy: string | null
  failedToolId: string | null
  threadId: string | null
  range: TimeRange
  bounds: Bounds
  by: (typeof runGroupings)[number]['by']
}

export const noFilter: RunFilter = {
  statuses: [],
  text: '',
  agentId: null,
  requestedBy: null,
  failedToolId: null,
  threadId: null,
  range: anyTime,
  bounds: boundsBy(() => null),
  by: null,
}

/** Whether the list is narrowed; groups narrow nothing. */
export const isNarrowed = (filter: RunFilter): boolean => hrefOf({ ...filter, by: null }) !== '/runs'

/** The filter in the query of an address; a status that does not exist is none, and so is a bound that cannot be written. */
export function filterOf(search: string): RunFilter {
  const given = new URLSearchParams(search)
  const statuses = given.getAll('status')
  return {
    statuses: runStatuses.filter((one) => statuses.includes(one)),
    text: given.get('q') ?? '',
    agentId: given.get('agent'),
    requestedBy: given.get('by'),
    failedToolId: given.get('failed'),
    threadId: given.get('thread'),
    range: rangeOf(given),
    bounds: boundsBy((name) => {
      const text = given.get(name) ?? ''
      return (name.endsWith('Cost') ? /^\d+(\.\d+)?$/ : /^\d+$/).test(text) ? Number(text) : null
    }),
    by: runGroupings.find(({ by }) => by === given.get('group'))?.by ?? null,
  }
}

/** The address of the list with a filter. */
export function hrefOf(filter: RunFilter): string {
  const { statuses, text, agentId, requestedBy, failedToolId, threadId, range, bounds, by } = filter
  const given = withMembers(new URLSearchParams(), {
    status: statuses,
    q: text,
    agent: agentId,
    by: requestedBy,
    failed: failedToolId,
    thread: threadId,
    ...membersOf(range),
    ...Object.fromEntries(boundNames.map((name) => [name, bounds[name]?.toString() ?? null])),
    group: by,
  }).toString()
  return given === '' ? '/runs' : `/runs?${given}`
}

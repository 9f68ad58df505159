/** Which runs stand in the list: the newest first, and never moved under the pointer. Pure. */

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

/** What the list is narrowed to; it is the query of the address. */
export interface RunFilter {
  status: RunStatus | null
  agentId: string | null
  threadId: string | null
}

/** The filter in the query of an address; a status that does not exist is none. */
export function filterOf(search: string): RunFilter {
  const given = new URLSearchParams(search)
  const status = given.get('status')
  return {
    status: runStatuses.find((one) => one === status) ?? null,
    agentId: given.get('agent'),
    threadId: given.get('thread'),
  }
}

/** The address of the list with a filter. */
export function hrefOf({ status, agentId, threadId }: RunFilter): string {
  const given = new URLSearchParams()
  if (status) given.set('status', status)
  if (agentId) given.set('agent', agentId)
  if (threadId) given.set('thread', threadId)
  const text = given.toString()
  return text === '' ? '/runs' : `/runs?${text}`
}

/** Statuses after which a run does not change any more. */
const ended: ReadonlySet<string> = new Set(['COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED'])
export const isEnded = (status: string): boolean => ended.has(status)

const openCall: ReadonlySet<string> = new Set([
  'PROPOSED',
  'AWAITING_APPROVAL',
  'APPROVED',
  'EXECUTING',
  'AWAITING_CLIENT',
])
/** Whether a call may change: it is open, or a person may still say what became of it. */
export const mayChange = (status: string): boolean => openCall.has(status) || status === 'UNKNOWN'
export const isOpenCall = (status: string): boolean => openCall.has(status)

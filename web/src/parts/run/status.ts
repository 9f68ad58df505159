/** What the statuses of runs and calls mean for whoever shows them. Pure. */

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

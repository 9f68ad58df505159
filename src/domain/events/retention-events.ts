/** Events of retention: its settings, legal holds, and removals of the data of a requester. */
import { kindsOf, projectOnly } from './define.ts'

type RemovalFacts = { removalId: string; requester: string }
type HoldFacts = { holdId: string; target: string; decidedBy: string }

export interface RetentionEvents {
  RETENTION_CHANGED: { decidedBy: string }
  LEGAL_HOLD_PUT: HoldFacts
  LEGAL_HOLD_LIFTED: HoldFacts
  DATA_REMOVAL_REQUESTED: RemovalFacts
  /** What could go is gone; what stays is told by the removal. */
  DATA_REMOVAL_FINISHED: RemovalFacts
}

const kind = kindsOf<RetentionEvents>()

export const retentionChanged = kind('RETENTION_CHANGED', projectOnly)
export const legalHoldPut = kind('LEGAL_HOLD_PUT', projectOnly)
export const legalHoldLifted = kind('LEGAL_HOLD_LIFTED', projectOnly)
export const dataRemovalRequested = kind('DATA_REMOVAL_REQUESTED', projectOnly)
export const dataRemovalFinished = kind('DATA_REMOVAL_FINISHED', projectOnly)

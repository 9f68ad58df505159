/** Events of triggers. */
import { kindsOf, projectOnly } from './define.ts'

type TriggerFacts = { triggerId: string; name: string }
/** `missed`: ticks before this one at which no server ran; 0 for a message. */
type TickFacts = { triggerId: string; missed: number }

export interface TriggerEvents {
  TRIGGER_CREATED: TriggerFacts
  TRIGGER_UPDATED: TriggerFacts
  TRIGGER_DELETED: TriggerFacts
  TRIGGER_STARTED: TickFacts & { runId: string }
  /** A tick started nothing. `reason`: OVERLAP, REQUESTER_GONE, or the code of the error that the start ended with. */
  TRIGGER_SKIPPED: TickFacts & { reason: string }
}

const kind = kindsOf<TriggerEvents>()

export const triggerCreated = kind('TRIGGER_CREATED', projectOnly)
export const triggerUpdated = kind('TRIGGER_UPDATED', projectOnly)
export const triggerDeleted = kind('TRIGGER_DELETED', projectOnly)
export const triggerStarted = kind('TRIGGER_STARTED', projectOnly)
export const triggerSkipped = kind('TRIGGER_SKIPPED', projectOnly)

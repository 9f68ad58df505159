/** The event types of retention as GraphQL objects. */
import type { EventType } from '../../../domain/events/index.ts'
import type { EventObject } from './event-fields.ts'

export type RetentionType = Extract<
  EventType,
  `RETENTION_${string}` | `LEGAL_HOLD_${string}` | `DATA_REMOVAL_${string}`
>

export const retentionEvents: { [Type in RetentionType]: EventObject<Type> } = {
  RETENTION_CHANGED: {
    description: 'The retention of the project was changed.',
    fields: (t, f) => ({ decidedBy: f.decidedBy(t) }),
  },
  LEGAL_HOLD_PUT: {
    description: 'A legal hold was put.',
    fields: (t, f) => ({ holdId: f.holdId(t), target: f.target(t), decidedBy: f.decidedBy(t) }),
  },
  LEGAL_HOLD_LIFTED: {
    description: 'A legal hold was lifted.',
    fields: (t, f) => ({ holdId: f.holdId(t), target: f.target(t), decidedBy: f.decidedBy(t) }),
  },
  DATA_REMOVAL_REQUESTED: {
    description: 'The removal of the data of a requester was requested.',
    fields: (t, f) => ({ removalId: f.removalId(t), requester: f.requester(t) }),
  },
  DATA_REMOVAL_FINISHED: {
    description: 'The data of a requester was removed, except for what must stay.',
    fields: (t, f) => ({ removalId: f.removalId(t), requester: f.requester(t) }),
  },
}

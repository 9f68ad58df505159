/** What a row of the timeline chooses. */
import type { TimelineRow } from './bars.ts'
import type { Choice } from '../../parts/run/choice.ts'

/** Null for the row of the run itself: nothing else is chosen then. */
export function choiceOf({ id, kind }: TimelineRow): Choice | null {
  return id === null ? null : { kind: kind === 'step' ? 'step' : 'call', id }
}

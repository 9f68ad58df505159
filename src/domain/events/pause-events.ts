/** Events of pauses. */
import { kindsOf, projectOnly } from './define.ts'

/** `target` is the id of a project, an agent or a tool. */
type PauseFacts = { pauseId: string; target: string; decidedBy: string }

export interface PauseEvents {
  PAUSE_STARTED: PauseFacts & { name: string }
  PAUSE_ENDED: PauseFacts
}

const kind = kindsOf<PauseEvents>()

export const pauseStarted = kind('PAUSE_STARTED', projectOnly)
export const pauseEnded = kind('PAUSE_ENDED', projectOnly)

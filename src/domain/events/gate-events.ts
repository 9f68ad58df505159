/** Events of gates: a change, or a proposal that a second person must confirm. */
import { kindsOf, projectOnly } from './define.ts'

/** `target` is the id of a tool, an agent or a project; `name` is its name at that time. */
type GateFacts = { target: string; name: string }

export interface GateEvents {
  GATE_CHANGED: GateFacts & { decidedBy: string }
  GATE_CHANGE_PROPOSED: GateFacts & { gateChangeId: string; proposedBy: string }
  GATE_CHANGE_DECIDED: GateFacts & {
    gateChangeId: string
    verdict: 'APPROVE' | 'REJECT'
    decidedBy: string
  }
}

const kind = kindsOf<GateEvents>()

export const gateChanged = kind('GATE_CHANGED', projectOnly)
export const gateChangeProposed = kind('GATE_CHANGE_PROPOSED', projectOnly)
export const gateChangeDecided = kind('GATE_CHANGE_DECIDED', projectOnly)

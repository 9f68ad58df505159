/** A change of a gate that needs a second person's confirmation. Pure. */
import type { gateChanges } from '../../store/db/tables/gates.ts'
import type { ToolGateEdit } from '../tools/index.ts'

/** As stored; a PENDING change that has expired is shown as EXPIRED. The other statuses are final. */
export const gateChangeStatuses = ['PENDING', 'CONFIRMED', 'REJECTED', 'EXPIRED'] as const
export type GateChangeStatus = (typeof gateChangeStatuses)[number]

/** What to set. Absent parts keep their value. */
export type GateEdit = ToolGateEdit

export interface GateChange {
  id: string
  projectId: string
  /** The tool, agent or project. */
  target: string
  targetVersion: number
  change: GateEdit
  note: string | null
  status: GateChangeStatus
  proposedBy: string
  decidedBy: string | null
  decidedAt: Date | null
  expiresAt: Date
  createdAt: Date
}

/** The public form of a row at the time `now`, in milliseconds since the epoch. */
export function changeOf(row: typeof gateChanges.$inferSelect, now: number): GateChange {
  const isOver = row.status === 'PENDING' && row.expiresAt.getTime() <= now
  return {
    ...row,
    status: isOver ? 'EXPIRED' : (row.status as GateChangeStatus),
    change: row.change as GateEdit,
  }
}

/** The permission resource for the gate of this tool, agent or project. */
export function resourceOfTarget(target: string): string {
  if (target.startsWith('tool_')) return `tool/${target}`
  return target.startsWith('agt_') ? `agent/${target}` : `project/${target}`
}

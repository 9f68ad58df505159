/** A change of a gate that waits for a second person. Pure. */
import type { gateChanges } from '../../store/db/tables/gates.ts'
import type { ToolGateEdit } from '../tools/index.ts'

/** As stored; one whose time is over shows as EXPIRED. The others are final. */
export const gateChangeStatuses = ['PENDING', 'CONFIRMED', 'REJECTED', 'EXPIRED'] as const
export type GateChangeStatus = (typeof gateChangeStatuses)[number]

/** What is to be set. What is left out stays. */
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

/** The row as people see it at that moment, in milliseconds. */
export function changeOf(row: typeof gateChanges.$inferSelect, now: number): GateChange {
  const isOver = row.status === 'PENDING' && row.expiresAt.getTime() <= now
  return {
    ...row,
    status: isOver ? 'EXPIRED' : (row.status as GateChangeStatus),
    change: row.change as GateEdit,
  }
}

/** What a permission about the gate of this thing is asked on. */
export function resourceOfTarget(target: string): string {
  if (target.startsWith('tool_')) return `tool/${target}`
  return target.startsWith('agt_') ? `agent/${target}` : `project/${target}`
}

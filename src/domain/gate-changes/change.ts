/** A change of a gate that needs a second person's confirmation, and its target: a tool, an agent, or a project. */
import type { z } from 'zod'
import { part, idOf, choice } from '../../core/shapes.ts'
import * as view from '../../core/view.ts'
import type { gateChanges } from '../../store/db/tables/approvals.ts'
import {
  type ToolGateEdit,
  checkActionTitles,
  findTool,
  regateTool,
  recordGateChanged,
  withGate,
} from '../tools/index.ts'
import { AppError, invalidAt } from '../../core/errors.ts'
import type { Database } from '../../store/db/database.ts'
import type { Ctx } from '../access/index.ts'
import { dropSecondForGates, findProject } from '../projects/index.ts'
import { findAgent, regateAgent, withAgentGate } from '../agents/index.ts'

/** As stored; a PENDING change that has expired is shown as EXPIRED. The other statuses are final. */
const gateChangeStatus = choice(
  'GateChangeStatus',
  'The status of a proposed gate change. All but PENDING are final.',
  {
    PENDING: 'The change waits for another person to confirm it.',
    CONFIRMED: 'Another person confirmed the change, and it was applied.',
    REJECTED: 'The change was rejected, or withdrawn by its proposer.',
    EXPIRED: 'No person decided about the change in time.',
  },
)
export type GateChangeStatus = z.output<typeof gateChangeStatus>

/** What to set. Absent parts keep their value. */
export type GateEdit = ToolGateEdit

export const gateChange = part('GateChange', 'A proposed gate change that another person must confirm.', {
  id: idOf('gateChange', 'proposed gate change'),
  target: view.under(
    'targetId',
    view.id(
      'The id of the tool or agent whose gate would change, or of the project whose gatesNeedSecond would end.',
    ),
  ),
  targetVersion: view.int(
    'The version of the tool or agent that the change is for; another version makes it invalid. 0 for a project.',
  ),
  change: view.jsonObject<GateEdit>(
    'The values to set: gate (null removes it), actionGates and agentsOnly. Members that are absent do ' +
      'not change.',
  ),
  note: view.text('The reason that the proposer gave; null when none was given.').nullable(),
  status: gateChangeStatus.describe('The status of the proposed change.'),
  proposedBy: view.principal(
    'proposer',
    'The principal that proposed the change.',
    'The id of the API key or person that proposed the change.',
  ),
  decidedBy: view
    .principal(
      'decider',
      'The principal that confirmed or rejected the change; null while it is pending.',
      'The id of the API key or person that confirmed or rejected the change; null while it is pending.',
    )
    .nullable(),
  decidedAt: view.date('When the change was confirmed or rejected; null while it is pending.').nullable(),
  expiresAt: view.date('When the change expires without a decision.'),
  createdAt: view.date('When the change was proposed.'),
})
export interface GateChange extends z.output<typeof gateChange> {
  projectId: string
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

/** The targets of gate changes: a tool, an agent, or a project with its rule about changes of gates. */
export interface GateTarget {
  id: string
  projectId: string
  name: string
  /** The version that was read; 0 for a project, which has none. */
  version: number
  /** Throws INVALID when the edit cannot be set, or would change nothing. */
  check(edit: GateEdit): Promise<void>
  /** Sets the edit in the caller's transaction. CONFLICT when the target has changed since it was read. */
  apply(tx: Database, edit: GateEdit): Promise<void>
}

/** Returns the target, or throws NOT_FOUND when it does not exist for the caller. Checks no permission. */
export async function findTarget(ctx: Ctx, id: string): Promise<GateTarget> {
  if (id.startsWith('tool_')) return toolTarget(ctx, id)
  if (id.startsWith('agt_')) return agentTarget(ctx, id)
  return projectTarget(ctx, id)
}

async function toolTarget(ctx: Ctx, id: string): Promise<GateTarget> {
  const tool = await findTool(ctx, id)
  return {
    ...tool,
    check: (edit) => checkActionTitles(ctx.db, tool, withGate(ctx, tool, edit)),
    apply: async (tx, edit) => assertSaved(await regateTool(tx, ctx, tool, edit)),
  }
}

async function agentTarget(ctx: Ctx, id: string): Promise<GateTarget> {
  const agent = await findAgent(ctx, id)
  return {
    ...agent,
    async check({ gate, actionGates, agentsOnly }) {
      if (actionGates || typeof agentsOnly === 'boolean' || gate === undefined)
        throw invalidAt(['input', 'gate'], 'is the only part that an agent has: give it, and nothing else')
      withAgentGate(agent, gate)
    },
    apply: async (tx, { gate }) => assertSaved(await regateAgent(tx, ctx, agent, gate ?? null)),
  }
}

async function projectTarget(ctx: Ctx, id: string): Promise<GateTarget> {
  const { name, gatesNeedSecond } = await findProject(ctx, id)
  return {
    id,
    projectId: id,
    name,
    version: 0,
    async check({ gate, actionGates, agentsOnly }) {
      if (gate !== undefined || actionGates || typeof agentsOnly === 'boolean')
        throw invalidAt(['input', 'gate'], 'is for tools and agents; leave it out for a project')
      if (!gatesNeedSecond)
        throw invalidAt(['input', 'targetId'], 'is a project without a rule about changes of gates')
    },
    async apply(tx) {
      await dropSecondForGates(tx, id)
      await recordGateChanged(tx, ctx, { id, projectId: id, name }, { gatesNeedSecond: false })
    },
  }
}

function assertSaved(done: unknown): void {
  if (done) return
  throw new AppError('CONFLICT', 'The target has changed since. Read it again and propose a new change.')
}

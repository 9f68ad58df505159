/** What has a gate: a tool, an agent, or the project with its rule about gates. */
import { AppError, invalidAt } from '../../core/errors.ts'
import type { Database } from '../../store/db/database.ts'
import { dropSecondForGates, findProject, type Ctx } from '../access/index.ts'
import { findAgent, regateAgent, withAgentGate } from '../agents/index.ts'
import { findTool, regateTool, recordGateChanged, withGate } from '../tools/index.ts'
import type { GateEdit } from './change.ts'

export interface Target {
  id: string
  projectId: string
  name: string
  /** Of what was looked at; 0 for a project, which has none. */
  version: number
  /** Throws INVALID when this cannot be set, or would change nothing. */
  check(edit: GateEdit): void
  /** Sets it in the caller's transaction. CONFLICT when the target was changed since it was looked at. */
  apply(tx: Database, edit: GateEdit): Promise<void>
}

/** The target of that id, as the caller reaches it; NOT_FOUND else. Checks no permission. */
export async function findTarget(ctx: Ctx, id: string): Promise<Target> {
  if (id.startsWith('tool_')) return toolTarget(ctx, id)
  if (id.startsWith('agt_')) return agentTarget(ctx, id)
  return projectTarget(ctx, id)
}

async function toolTarget(ctx: Ctx, id: string): Promise<Target> {
  const tool = await findTool(ctx, id)
  return {
    ...tool,
    check: (edit) => void withGate(ctx, tool, edit),
    apply: async (tx, edit) => assertDone(await regateTool(tx, ctx, tool, edit)),
  }
}

async function agentTarget(ctx: Ctx, id: string): Promise<Target> {
  const agent = await findAgent(ctx, id)
  return {
    ...agent,
    check({ gate, actionGates, agentsOnly }) {
      if (actionGates || typeof agentsOnly === 'boolean' || gate === undefined)
        throw invalidAt(['input', 'gate'], 'is all that an agent has of a gate: give it, and nothing else')
      withAgentGate(agent, gate)
    },
    apply: async (tx, { gate }) => assertDone(await regateAgent(tx, ctx, agent, gate ?? null)),
  }
}

async function projectTarget(ctx: Ctx, id: string): Promise<Target> {
  const { name, gatesNeedSecond } = await findProject(ctx, id)
  return {
    id,
    projectId: id,
    name,
    version: 0,
    check({ gate, actionGates, agentsOnly }) {
      if (gate !== undefined || actionGates || typeof agentsOnly === 'boolean')
        throw invalidAt(['input', 'gate'], 'goes with a tool or an agent; leave it out for a project')
      if (!gatesNeedSecond)
        throw invalidAt(['input', 'targetId'], 'names a project that has no rule about changes of gates')
    },
    async apply(tx) {
      await dropSecondForGates(tx, id)
      await recordGateChanged(tx, ctx, { id, projectId: id, name }, { gatesNeedSecond: false })
    },
  }
}

function assertDone(done: unknown): void {
  if (done) return
  throw new AppError('CONFLICT', 'It was changed meanwhile. Read it again, and propose the change anew.')
}

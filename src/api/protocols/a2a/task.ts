/** A task as it is now: a run with what it asks this caller for. Read from the rows, so it costs no replay of the log. */
import type { Ctx } from '../../../domain/access/index.ts'
import { getAgents } from '../../../domain/agents/index.ts'
import { loadPendingUnder, whyNotDecide, type Approval } from '../../../domain/approvals/index.ts'
import {
  getGenerations,
  isTerminal,
  loadAskedUnder,
  showStepsOf,
  type Generation,
  type Step,
} from '../../../domain/generations/index.ts'
import { loadOpenCallsOf, type ToolCall } from '../../../domain/tool-calls/index.ts'
import { taskNotFound } from './errors.ts'

/** What a task asks for: calls that the client runs, and questions that this caller may decide now. */
export interface RequiredInput {
  calls: ToolCall[]
  approvals: Approval[]
}

export interface TaskState {
  generation: Generation
  asked: RequiredInput
  /** The committed model responses, oldest first; null when they were not asked for. */
  steps: Step[] | null
}

/**
 * The run of a task of the agent with this id or name. TASK_NOT_FOUND when it does not exist for the caller, is a child
 * run, or belongs to another agent. Action `generations:Get`; to name the agent instead of its id also `agents:Get`.
 */
export async function findTask(ctx: Ctx, agentNamed: string, id: string): Promise<Generation> {
  const [generation] = id.startsWith('gen_') ? await getGenerations(ctx, [id]) : []
  if (!generation || generation.parentId !== null) throw taskNotFound(id)
  if (generation.agentId === agentNamed) return generation
  const [agent] = await getAgents(ctx, [generation.agentId])
  if (agent?.name !== agentNamed) throw taskNotFound(id)
  return generation
}

/** The task as it is now. What happened after `generation.lastSeq` may be in it already. */
export async function readTask(ctx: Ctx, id: string): Promise<TaskState> {
  return { ...(await readState(ctx, id)), steps: await showStepsOf(ctx.db, [id]) }
}

/** The same without its steps. */
export async function readState(ctx: Ctx, id: string): Promise<TaskState> {
  const [generation] = await getGenerations(ctx, [id])
  if (!generation) throw taskNotFound(id)
  return withQuestions(ctx, generation)
}

/** The same of a run that was read. */
export async function withQuestions(ctx: Ctx, generation: Generation): Promise<TaskState> {
  const { id, storedStatus, cancelRequestedAt } = generation
  // A run asks while its other calls still run: no event says when it is parked.
  const isOver = isTerminal(storedStatus) || cancelRequestedAt !== null
  return { generation, asked: isOver ? noQuestions : await askedNow(ctx, id), steps: null }
}

const noQuestions: RequiredInput = { calls: [], approvals: [] }

async function askedNow(ctx: Ctx, id: string): Promise<RequiredInput> {
  const [own, under, pending] = await Promise.all([
    loadOpenCallsOf(ctx.db, [id]),
    loadAskedUnder(ctx.db, [id]),
    loadPendingUnder(ctx.db, id),
  ])
  const refusals = pending.length > 0 ? await whyNotDecide(ctx, pending) : []
  return {
    calls: [...own, ...under.map(({ call }) => call)].filter(
      ({ status, kind }) => status === 'AWAITING_CLIENT' && kind === 'client',
    ),
    approvals: pending.filter((_one, i) => refusals[i] === null),
  }
}

export function asksCaller({ asked }: TaskState): boolean {
  return asked.calls.length + asked.approvals.length > 0
}

export function hasEnded({ generation }: TaskState): boolean {
  return isTerminal(generation.storedStatus)
}

/**
 * The Tasks extension (io.modelcontextprotocol/tasks), new era only: a handle for work that takes long. A task is no row
 * of its own: its id is the id of the call or run with a seal for this caller.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  type CallToolResult,
  type InputRequiredResult,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { purposeKey, sameText, sign } from '../../core/signing.ts'
import type { Ctx } from '../../domain/access/index.ts'
import { answerWork, cancelWork, fetched, readWork, type Work } from '../../domain/bridge/index.ts'
import { codes, protocolError, toProtocolError } from './errors.ts'
import { callerOf } from './relay.ts'
import { doneResult, protocolFaultOf, withConversation } from './results.ts'
import type { Visit } from './visit.ts'

export const tasksExtension = 'io.modelcontextprotocol/tasks'

/** A finished task can be asked for so long, as long as its key is remembered; then its row may go. */
const ttlMs = 24 * 60 * 60 * 1000

/** A task in the form of the extension: flat, beside the type of the result. */
export interface TaskResult {
  [key: string]: unknown
  resultType: string
  taskId: string
  status: string
}

/** Everything that tools/call may answer. */
export type CallAnswer = CallToolResult | InputRequiredResult | TaskResult

/** Whether the client can take a task for an answer to this very request. */
export function declaresTasks({ era }: Pick<Visit, 'era'>, { mcpReq }: ServerContext): boolean {
  const envelope = mcpReq.envelope as Record<string, { extensions?: object } | undefined> | undefined
  const declared = envelope?.[CLIENT_CAPABILITIES_META_KEY]?.extensions
  return era === 'modern' && declared !== undefined && tasksExtension in declared
}

/** The refusal of a client that does not declare tasks. */
export function missingTasks(): Error {
  return new MissingRequiredClientCapabilityError({
    requiredCapabilities: { extensions: { [tasksExtension]: {} } },
  })
}

/** The answer to a call that goes on as a task. The row is committed: it can be asked for at once. */
export function newTask(visit: Visit, work: Work): TaskResult {
  return { resultType: 'task', ...shown(visit, work) }
}

const taskParams = z.looseObject({ taskId: z.string() })

/** Adds tasks/get, tasks/update and tasks/cancel. */
export function addTasks(server: Server, visit: Visit): void {
  const serve = (method: string, answer: (work: Work, mcp: ServerContext) => Promise<object>) =>
    server.setRequestHandler(method, { params: taskParams }, async ({ taskId }, mcp) => {
      if (!declaresTasks(visit, mcp)) throw missingTasks()
      try {
        return { resultType: 'complete', ...(await answer(await find(visit.ctx, taskId), mcp)) }
      } catch (error) {
        throw toProtocolError(error, visit.log)
      }
    })
  serve('tasks/get', (work) => got(visit, work))
  serve('tasks/update', async (work, mcp) => {
    const answers = (mcp.mcpReq.inputResponses ?? {}) as JsonObject
    const given = await answerWork(
      visit.ctx,
      work.id,
      answers,
      callerOf({ ...visit, streams: false }, mcp, async () => {}),
    )
    // It goes on by itself; whoever wants to know asks for the task.
    given?.running.catch((error: unknown) =>
      visit.log.error({ err: error, id: work.id }, 'a task was broken off'),
    )
    return {}
  })
  serve('tasks/cancel', async (work) => {
    await cancelWork(visit.ctx, work.id)
    return {}
  })
}

async function got(visit: Visit, work: Work): Promise<object> {
  const task = shown(visit, work)
  const broken = work.result && work.status === 'DONE' ? protocolFaultOf(work.result) : null
  if (broken) return { ...task, status: 'failed', error: broken }
  if (work.asked) return { ...task, inputRequests: work.asked }
  if (task['status'] !== 'completed') return task
  await fetched(visit.ctx, work)
  // The result inside is whole: clients read it with the schema of an answer to tools/call.
  return { ...task, result: { resultType: 'complete', ...resultOf(visit, work) } }
}

function resultOf(visit: Visit, work: Work): CallToolResult {
  return withConversation(doneResult({ ...visit, seed: false }, work.id, work.result!), work.conversationId)
}

/** The work behind a task of this caller; every other id is unknown in the same words. */
async function find(ctx: Ctx, taskId: string): Promise<Work> {
  const unknown = () => protocolError(codes.invalidParams, 'Unknown task', 'unknown_task')
  const [workId, seal, ...more] = taskId.split('.')
  if (!workId || !seal || more.length > 0 || !sameText(seal, sealOf(ctx, workId))) throw unknown()
  return readWork(ctx, workId).catch((error: unknown) => {
    throw error instanceof AppError && error.code === 'NOT_FOUND' ? unknown() : error
  })
}

/** 144 bits: an id that nobody can guess, and nobody else can use. */
function sealOf({ masterKey, principal }: Ctx, workId: string): string {
  return sign(purposeKey(masterKey, 'mcp task'), [principal.id, workId]).slice(0, 24)
}

const statuses = {
  RUNNING: 'working',
  WAITING: 'working',
  ASKS: 'input_required',
  DONE: 'completed',
  CANCELLED: 'cancelled',
} as const

function shown(
  { ctx, times }: Visit,
  work: Work,
): Omit<TaskResult, 'resultType'> & { taskId: string; status: string } {
  const { pending } = work
  const status = statuses[work.status]
  return {
    taskId: `${work.id}.${sealOf(ctx, work.id)}`,
    status,
    ...(pending
      ? { statusMessage: `Waiting for a person to approve, until ${pending.expiresAt.toISOString()}.` }
      : {}),
    createdAt: work.createdAt.toISOString(),
    lastUpdatedAt: work.changedAt.toISOString(),
    ttlMs,
    pollIntervalMs: times.pollMs,
  }
}

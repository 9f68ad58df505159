/**
 * The Tasks extension (io.modelcontextprotocol/tasks), for modern clients. A task is not stored: its id is the id of the
 * call or generation with a signature for its caller.
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
import { AppError } from '../../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import { purposeKey, sameText, sign } from '../../../core/signing.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import {
  answerInputRequests,
  cancelOwnCall,
  readCallHandle,
  type CallHandle,
} from '../../../domain/bridge/index.ts'
import type { AgentRequest, ModernRequest } from '../http/agent-request.ts'
import { inputResponsesOf, modernRelay } from './caller-channel.ts'
import { codes, protocolError, toProtocolError } from '../http/errors.ts'
import { protocolFaultOf, resultOf, waitsFor, withConversation } from './results.ts'
import { noteDelivery, type CallContext } from './request-state.ts'

export const tasksExtension = 'io.modelcontextprotocol/tasks'

/** A finished task can be read for so long, in milliseconds: as long as idempotency keys are kept. */
const ttlMs = 24 * 60 * 60 * 1000

/** A task as the extension represents it: its fields are beside `resultType`. */
export interface TaskResult {
  [key: string]: unknown
  resultType: string
  taskId: string
  status: string
}

/** Everything that tools/call may return. */
export type ToolsCallResult = CallToolResult | InputRequiredResult | TaskResult

/** Whether the client accepts a task as the result of this very request. */
export function supportsTasks({ era }: Pick<AgentRequest, 'era'>, { mcpReq }: CallContext): boolean {
  return era === 'modern' && declaresTasks((mcpReq.envelope ?? {}) as JsonObject)
}

/** Whether the envelope of a request declares support for tasks. */
export function declaresTasks(envelope: JsonObject): boolean {
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY]
  const extensions = isJsonObject(capabilities) ? capabilities['extensions'] : undefined
  return isJsonObject(extensions) && tasksExtension in extensions
}

/** The error for a modern client that needs task support and did not declare it. */
export function missingTasks(): Error {
  return new MissingRequiredClientCapabilityError({
    requiredCapabilities: { extensions: { [tasksExtension]: {} } },
  })
}

/** The result of a call that goes on as a task. The call is committed, so the client may read the task at once. */
export function newTask(request: AgentRequest, handle: CallHandle): TaskResult {
  return { resultType: 'task', ...taskOf(request, handle) }
}

const taskParams = z.looseObject({ taskId: z.string() })

/** Adds tasks/get, tasks/update and tasks/cancel. */
export function addTasks(server: Server, request: ModernRequest): void {
  const { ctx, runtime } = request
  const handle = (method: string, serve: (task: CallHandle, context: ServerContext) => Promise<object>) =>
    server.setRequestHandler(method, { params: taskParams }, async ({ taskId }, context) => {
      if (!supportsTasks(request, context)) throw missingTasks()
      try {
        return { resultType: 'complete', ...(await serve(await findTask(ctx, taskId), context)) }
      } catch (error) {
        throw toProtocolError(error, runtime.log)
      }
    })
  handle('tasks/get', (task) => getTask(request, task))
  handle('tasks/update', (task, context) => updateTask(request, task, context))
  handle('tasks/cancel', async (task) => {
    await cancelOwnCall(ctx, task.id)
    return {}
  })
}

async function getTask(request: ModernRequest, handle: CallHandle): Promise<object> {
  const task = taskOf(request, handle)
  if (handle.inputRequests) return { ...task, inputRequests: handle.inputRequests }
  if (task.status !== 'completed') return task
  await noteDelivery(request, handle)
  const fault = protocolFaultOf(handle.result!)
  if (fault) return { ...task, status: 'failed', error: fault }
  const result = resultOf({ ...request, seedErrors: false }, handle.id, handle.result!)
  // Clients validate the inner result as a complete result of tools/call.
  return { ...task, result: { resultType: 'complete', ...withConversation(result, handle.conversationId) } }
}

/** Gives the client's responses to the upstream. The call goes on in the background; tasks/get reports how it ends. */
async function updateTask(
  request: ModernRequest,
  { id }: CallHandle,
  context: ServerContext,
): Promise<object> {
  const responses = inputResponsesOf(context.mcpReq) ?? {}
  // The response to tasks/update ends its stream, so nothing can be sent on it later.
  const channel = { relay: modernRelay({ acceptsStream: false }, context) }
  const resumed = await answerInputRequests(request.ctx, id, responses, channel)
  resumed?.running.catch((error: unknown) =>
    request.runtime.log.error({ err: error, id }, 'a task failed unexpectedly'),
  )
  return {}
}

/** The caller's own call or generation behind a task id. Every other id gets the same error. */
async function findTask(ctx: Ctx, taskId: string): Promise<CallHandle> {
  const unknown = () => protocolError(codes.invalidParams, 'Unknown task', 'unknown_task')
  const [id, signature, ...more] = taskId.split('.')
  if (!id || !signature || more.length > 0 || !sameText(signature, signatureOf(ctx, id))) throw unknown()
  return readCallHandle(ctx, id).catch((error: unknown) => {
    throw error instanceof AppError && error.code === 'NOT_FOUND' ? unknown() : error
  })
}

/** 144 bits, bound to the caller: a task id cannot be guessed, and nobody else can use it. */
function signatureOf({ masterKey, principal }: Ctx, id: string): string {
  return sign(purposeKey(masterKey, 'mcp task'), [principal.id, id]).slice(0, 24)
}

const statuses = {
  RUNNING: 'working',
  AWAITING_APPROVAL: 'working',
  INPUT_REQUIRED: 'input_required',
  DONE: 'completed',
  CANCELLED: 'cancelled',
} as const

function taskOf({ ctx, runtime }: AgentRequest, handle: CallHandle) {
  const { id, pendingApproval, createdAt, changedAt } = handle
  return {
    taskId: `${id}.${signatureOf(ctx, id)}`,
    status: statuses[handle.status],
    ...(pendingApproval
      ? {
          statusMessage:
            pendingApproval.login === null
              ? `Waiting for a person to approve, until ${pendingApproval.expiresAt.toISOString()}.`
              : `Waiting, until ${pendingApproval.expiresAt.toISOString()}: ${waitsFor(pendingApproval.login)}.`,
        }
      : {}),
    createdAt: createdAt.toISOString(),
    lastUpdatedAt: changedAt.toISOString(),
    ttlMs,
    pollIntervalMs: runtime.timings.pollMs,
  }
}

/** A2A's methods over the runs of an agent. Its bindings read the request and shape the answer. */
import type { ServerResponse } from 'node:http'
import type { JsonObject } from '../../../core/json.ts'
import { waitFor } from '../../../domain/calls/index.ts'
import { cancelGeneration, isTerminal } from '../../../domain/generations/index.ts'
import type { AuthenticatedRequest } from '../../http/authenticated-api.ts'
import { openEventStream } from '../segments/sse.ts'
import { A2aError } from './errors.ts'
import { listTasks } from './list.ts'
import { noPush, readListing, readMessage, readOfTask } from './request.ts'
import { acceptMessage } from './send.ts'
import { taskOf } from './shapes.ts'
import { asksCaller, findTask, hasEnded, readState, readTask } from './task.ts'
import { followTask } from './updates.ts'

/** How long SendMessage waits for the end of the task or its next question, in milliseconds; then it is working. */
const waitMs = 540_000
/** The same for the end of a task that is cancelled. */
const cancelMs = 5000

export interface MethodCall {
  request: AuthenticatedRequest
  response: ServerResponse
  /** The id or name of the agent. */
  agentNamed: string
  params: JsonObject
  /** Where the parameters are in the request, for what is said of a fault. */
  at: string[]
  /** What an event of a stream is sent as. */
  event(result: JsonObject): JsonObject
}

/** The result, or null when it was streamed. Throws before anything is sent. */
export async function perform(method: string, call: MethodCall): Promise<JsonObject | null> {
  const { request, agentNamed, params, at } = call
  const { ctx } = request
  switch (method) {
    case 'SendMessage':
      return send(call)
    case 'SendStreamingMessage': {
      const given = readMessage(params, at)
      const { id } = await acceptMessage(ctx, agentNamed, given)
      const { historyLength } = given
      return stream(call, { id, historyLength, behindQuestion: false })
    }
    case 'GetTask': {
      const { id, historyLength } = readOfTask(params, at)
      await findTask(ctx, agentNamed, id)
      return taskOf(await readTask(ctx, id), { historyLength, artifacts: true })
    }
    case 'ListTasks':
      return listTasks(ctx, agentNamed, readListing(params, at))
    case 'CancelTask':
      return cancel(call)
    case 'SubscribeToTask':
      return subscribe(call)
    case 'CreateTaskPushNotificationConfig':
    case 'GetTaskPushNotificationConfig':
    case 'ListTaskPushNotificationConfigs':
    case 'DeleteTaskPushNotificationConfig':
      throw noPush()
    case 'GetExtendedAgentCard':
      throw new A2aError('UNSUPPORTED_OPERATION', 'There is one card; it shows what the key may know.')
    default:
      throw new A2aError('METHOD_NOT_FOUND', 'A2A 1.0 has no such method.')
  }
}

async function send({ request, agentNamed, params, at }: MethodCall): Promise<JsonObject> {
  const { ctx, disconnected } = request
  const given = readMessage(params, at)
  const { id, projectId } = await acceptMessage(ctx, agentNamed, given)
  const { historyLength, returnImmediately } = given
  await waitFor(ctx, { id, projectId }, () => readState(ctx, id), {
    maxMs: returnImmediately ? 0 : waitMs,
    signal: disconnected,
    enough: (now) => hasEnded(now) || asksCaller(now),
  })
  return { task: taskOf(await readTask(ctx, id), { historyLength, artifacts: true }) }
}

async function cancel({ request: { ctx }, agentNamed, params, at }: MethodCall): Promise<JsonObject> {
  const { id } = readOfTask(params, at)
  const { storedStatus, projectId } = await findTask(ctx, agentNamed, id)
  if (isTerminal(storedStatus)) throw new A2aError('TASK_NOT_CANCELABLE', 'The task has ended.')
  await cancelGeneration(ctx, { generationId: id, reason: null })
  const patience = { maxMs: cancelMs, enough: hasEnded }
  await waitFor(ctx, { id, projectId }, () => readState(ctx, id), patience)
  return taskOf(await readTask(ctx, id), { historyLength: null, artifacts: true })
}

async function subscribe(call: MethodCall): Promise<null> {
  const { request, agentNamed, params, at } = call
  const { id, historyLength } = readOfTask(params, at)
  const { storedStatus } = await findTask(request.ctx, agentNamed, id)
  if (isTerminal(storedStatus))
    throw new A2aError('UNSUPPORTED_OPERATION', 'The task has ended; GetTask returns it.')
  return stream(call, { id, historyLength, behindQuestion: true })
}

/** Sends the events of the task; the run does not depend on it. Its refusal is no stream. */
async function stream(
  { request, response, event }: MethodCall,
  watched: Parameters<typeof followTask>[1],
): Promise<null> {
  const gone = new AbortController()
  try {
    const events = await followTask(request.ctx, watched, gone.signal)
    const writer = openEventStream(response, () => gone.abort())
    for await (const result of events) if (!(await writer.send(event(result)))) break
    if (!response.destroyed) writer.end()
    return null
  } finally {
    gone.abort()
  }
}

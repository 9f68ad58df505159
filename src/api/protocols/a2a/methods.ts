/**
 * A2A's methods over the runs of an agent: a message begins a task, goes on in a context, or answers what a task asks
 * for. Bindings read the request and shape the answer.
 */
import { AppError, invalidAt } from '../../../core/errors.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import { findAgentToStart } from '../../../domain/agents/index.ts'
import {
  isTerminal,
  beginGeneration,
  type Generation,
  cancelGeneration,
} from '../../../domain/generations/index.ts'
import { answerSegment } from '../segments/answers.ts'
import { attachmentsOf, fingerprints } from '../segments/given-files.ts'
import { inNamesOf, type InputNames } from '../segments/input-names.ts'
import { A2aError } from './errors.ts'
import { type GivenMessage, noPush, readListing, readMessage, readOfTask } from './request.ts'
import { findTask, asksCaller, hasEnded, readState, readTask } from './task.ts'
import type { ServerResponse } from 'node:http'
import type { JsonObject } from '../../../core/json.ts'
import { waitFor } from '../../../domain/calls/index.ts'
import type { AuthenticatedRequest } from '../../http/authenticated-api.ts'
import { openEventStream } from '../segments/sse.ts'
import { listTasks } from './list.ts'
import { taskOf } from './shapes.ts'
import { followTask } from './updates.ts'

const partsOf = ({ path }: GivenMessage) => [...path, 'parts']
const contextOf = ({ path }: GivenMessage) => [...path, 'contextId']

/** Where a request has the inputs of the operations. */
const namesOf = (given: GivenMessage): InputNames => ({
  messages: partsOf(given),
  attachments: partsOf(given),
  outputs: partsOf(given),
  reason: partsOf(given),
  threadId: contextOf(given),
  idempotencyKey: [...given.path, 'messageId'],
})

/**
 * The run of the task that the message begins or answers. Action `generations:Start` on the agent, or those of the
 * answers. The message id is the idempotency key of a task that it begins; answers are compared with the first ones.
 */
function acceptMessage(ctx: Ctx, agentNamed: string, given: GivenMessage): Promise<Generation> {
  return inNamesOf(namesOf(given), async () =>
    given.taskId
      ? answerTask(ctx, await findTask(ctx, agentNamed, given.taskId), given)
      : beginTask(ctx, agentNamed, given),
  )
}

async function beginTask(ctx: Ctx, agentNamed: string, given: GivenMessage): Promise<Generation> {
  const { messageId, contextId, text, files } = given
  const agent = await findAgentToStart(ctx, agentNamed)
  if (!text) throw invalidAt(partsOf(given), 'must have text or data')
  const attachments = await attachmentsOf(ctx, agent.projectId, files)
  try {
    return await beginGeneration(
      ctx,
      {
        agentId: agent.id,
        messages: [{ role: 'USER', content: text }],
        ...(attachments.length > 0 ? { attachments } : {}),
        ...(contextId ? { threadId: contextId } : {}),
        idempotencyKey: messageId,
      },
      // How the client wants to be answered may differ between a message and its repeat.
      {
        operation: 'a2a:SendMessage',
        request: { agentId: agent.id, text, fileIds: fingerprints(files), contextId },
      },
    )
  } catch (error) {
    const isContext = contextId && error instanceof AppError && error.code === 'NOT_FOUND'
    throw isContext ? invalidAt(contextOf(given), 'is no context of yours; leave it out to begin one') : error
  }
}

async function answerTask(ctx: Ctx, generation: Generation, given: GivenMessage): Promise<Generation> {
  const { contextId, answers, text, files } = given
  if (contextId && contextId !== generation.threadId)
    throw invalidAt(contextOf(given), 'is another context than that of the task')
  const isAnswer = answers.outputs.length + answers.verdicts.length > 0
  if (isAnswer) {
    if (text || files.length > 0)
      throw invalidAt(partsOf(given), 'must be answers only; say why in the reason of a verdict')
    return (await answerSegment(ctx, generation, answers, partsOf(given))).generation
  }
  throw new A2aError(
    'UNSUPPORTED_OPERATION',
    isTerminal(generation.storedStatus)
      ? 'The task has ended. Leave out its id, and go on in its context.'
      : 'A task takes only answers to what it asks for, as data parts: {toolCallId, output} or {approvalId, verdict}.',
  )
}

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

/** A2A 1.0 (Agent2Agent) over the runs of agents: an agent card and a JSON-RPC endpoint for each agent. */
import type { ServerResponse } from 'node:http'
import { AppError, notFound } from '../../../core/errors.ts'
import type { Json, JsonObject } from '../../../core/json.ts'
import { asAppError, type Ctx } from '../../../domain/access/index.ts'
import { waitFor } from '../../../domain/calls/index.ts'
import { cancelGeneration, isTerminal } from '../../../domain/generations/index.ts'
import {
  decoded,
  type ApiCall,
  type ApiReply,
  type AuthenticatedApi,
  type AuthenticatedRequest,
} from '../../http/authenticated-api.ts'
import { retryAfter } from '../../http/replies.ts'
import { openEventStream } from '../segments/sse.ts'
import { cardOf } from './card.ts'
import { A2aError, errorBody, httpStatusOf } from './errors.ts'
import { listTasks } from './list.ts'
import {
  idOf,
  noPush,
  readListing,
  readMessage,
  readOfTask,
  readRpc,
  type GivenMessage,
  type RpcRequest,
} from './request.ts'
import { acceptMessage } from './send.ts'
import { taskOf } from './shapes.ts'
import { asksCaller, findTask, hasEnded, readState, readTask } from './task.ts'
import { followTask } from './updates.ts'

/** How long SendMessage waits for the end of the task or its next question, in milliseconds; then it is working. */
const waitMs = 540_000
/** The same for the end of a task that is cancelled. */
const cancelMs = 5000

/** `publicUrl` is the address that cards name. */
export function a2aApi(publicUrl: () => string): AuthenticatedApi {
  const rpc = ({ request, response, params }: ApiCall) =>
    answerRpc(request, response, decoded(params['agent']!, 'agent'))
  return {
    resource: '/a2a',
    routes: [
      { method: 'POST', path: '/a2a/{agent}', run: rpc },
      { method: 'POST', path: '/a2a/{agent}/', run: rpc },
      {
        method: 'GET',
        path: '/a2a/{agent}/.well-known/agent-card.json',
        head: true,
        run: async ({ request: { ctx }, params }) => ({
          status: 200,
          body: await cardOf(ctx, decoded(params['agent']!, 'agent'), publicUrl()),
        }),
      },
    ],
    errorBody: (error) => errorBody(error, null),
    missing: ({ path }) => notFound('agent at the path', path),
    notAllowed: new A2aError('INVALID_REQUEST', 'Method not allowed: GET the card, and POST JSON-RPC.'),
  }
}

/** Errors of a request that was read have its id. */
async function answerRpc(
  request: AuthenticatedRequest,
  response: ServerResponse,
  agentNamed: string,
): Promise<ApiReply | null> {
  let id: string | number | null = null
  try {
    const body = await bodyOf(request)
    id = idOf(body)
    const rpc = readRpc(body)
    assertVersion(request)
    const result = await call(request, response, agentNamed, rpc)
    return result && { status: 200, body: { jsonrpc: '2.0', id, result } }
  } catch (error) {
    const known = asAppError(error)
    if (!known || response.headersSent) throw error
    return {
      status: known.code === 'NOT_FOUND' && !(known instanceof A2aError) ? 404 : httpStatusOf(known),
      body: errorBody(known, id),
      headers: retryAfter(known.details.retryAfterMs),
    }
  }
}

async function bodyOf(request: AuthenticatedRequest): Promise<Json | undefined> {
  try {
    return await request.body()
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'INVALID') throw error
    throw new A2aError('PARSE_ERROR', error.message)
  }
}

/** A request without a version is one of 0.3, says the protocol. */
function assertVersion({ headers, query }: AuthenticatedRequest): void {
  const version = headers['a2a-version']?.toString() || query.get('A2A-Version') || '0.3'
  if (!/^1\.0(\.\d{1,5})?$/.test(version.trim()))
    throw new A2aError('VERSION_NOT_SUPPORTED', 'Send the header "A2A-Version: 1.0"; no other one is served.')
}

/** The result, or null when it was streamed. */
async function call(
  request: AuthenticatedRequest,
  response: ServerResponse,
  agentNamed: string,
  rpc: RpcRequest,
): Promise<JsonObject | null> {
  const { ctx } = request
  const { method, params } = rpc
  switch (method) {
    case 'SendMessage':
      return send(request, agentNamed, readMessage(params))
    case 'SendStreamingMessage': {
      const given = readMessage(params)
      const { id } = await acceptMessage(ctx, agentNamed, given)
      const { historyLength } = given
      return stream(ctx, response, rpc.id, { id, historyLength, behindQuestion: false })
    }
    case 'GetTask': {
      const { id, historyLength } = readOfTask(params)
      await findTask(ctx, agentNamed, id)
      return taskOf(await readTask(ctx, id), { historyLength, artifacts: true })
    }
    case 'ListTasks':
      return listTasks(ctx, agentNamed, readListing(params))
    case 'CancelTask':
      return cancel(ctx, agentNamed, params)
    case 'SubscribeToTask':
      return subscribe(request, response, agentNamed, rpc)
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

async function send(
  { ctx, disconnected }: AuthenticatedRequest,
  agentNamed: string,
  given: GivenMessage,
): Promise<JsonObject> {
  const { id, projectId } = await acceptMessage(ctx, agentNamed, given)
  const { historyLength, returnImmediately } = given
  await waitFor(ctx, { id, projectId }, () => readState(ctx, id), {
    maxMs: returnImmediately ? 0 : waitMs,
    signal: disconnected,
    enough: (now) => hasEnded(now) || asksCaller(now),
  })
  return { task: taskOf(await readTask(ctx, id), { historyLength, artifacts: true }) }
}

async function cancel(ctx: Ctx, agentNamed: string, params: JsonObject): Promise<JsonObject> {
  const { id } = readOfTask(params)
  const { storedStatus, projectId } = await findTask(ctx, agentNamed, id)
  if (isTerminal(storedStatus)) throw new A2aError('TASK_NOT_CANCELABLE', 'The task has ended.')
  await cancelGeneration(ctx, { generationId: id, reason: null })
  const patience = { maxMs: cancelMs, enough: hasEnded }
  await waitFor(ctx, { id, projectId }, () => readState(ctx, id), patience)
  return taskOf(await readTask(ctx, id), { historyLength: null, artifacts: true })
}

async function subscribe(
  { ctx }: AuthenticatedRequest,
  response: ServerResponse,
  agentNamed: string,
  { id: rpcId, params }: RpcRequest,
): Promise<null> {
  const { id, historyLength } = readOfTask(params)
  const { storedStatus } = await findTask(ctx, agentNamed, id)
  if (isTerminal(storedStatus))
    throw new A2aError('UNSUPPORTED_OPERATION', 'The task has ended; GetTask returns it.')
  return stream(ctx, response, rpcId, { id, historyLength, behindQuestion: true })
}

/** Sends the events of the task; the run does not depend on it. Its refusal is no stream. */
async function stream(
  ctx: Ctx,
  response: ServerResponse,
  rpcId: string | number,
  watched: Parameters<typeof followTask>[1],
): Promise<null> {
  const gone = new AbortController()
  try {
    const events = await followTask(ctx, watched, gone.signal)
    const writer = openEventStream(response, () => gone.abort())
    for await (const result of events) if (!(await writer.send({ jsonrpc: '2.0', id: rpcId, result }))) break
    if (!response.destroyed) writer.end()
    return null
  } finally {
    gone.abort()
  }
}

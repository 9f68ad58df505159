/** Runs of the Assistants API: begun, polled or streamed, answered and cancelled. */
import type { ServerResponse } from 'node:http'
import { AppError, invalidAt } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { findAgentToStart } from '../../domain/agents/index.ts'
import {
  cancelGeneration,
  isTerminal,
  listGenerations,
  startGeneration,
  type Generation,
} from '../../domain/generations/index.ts'
import { getToolCalls } from '../../domain/tool-calls/index.ts'
import type { KeyedReply, KeyedRequest } from '../keyed.ts'
import { answerLeg } from '../runs/answers.ts'
import { assertOnlyLast, attachmentsOf, fingerprints } from '../runs/given-files.ts'
import { keyOf } from '../runs/openai-requests.ts'
import { readOutputs, readRun, readThreadAndRun, type GivenRun } from './input.ts'
import { listBody, pageOf, readListing } from './lists.ts'
import { bodyOf, findRun, runOf, threadOf } from './request.ts'
import { shownRun, shownRuns } from './shapes.ts'
import { openCallsOf } from './open-calls.ts'
import { streamRun } from './stream.ts'

/** How often the official clients poll, in milliseconds; their own default is five seconds. */
const pollAfterMs = '50'

export async function beginThread(
  request: KeyedRequest,
  _ids: string[],
  response: ServerResponse,
): Promise<KeyedReply | null> {
  const body = await bodyOf(request)
  const given = readThreadAndRun(body)
  const run = await start(request, given, body, null)
  return given.streams
    ? streamRun(request.ctx, response, { run, after: 0, begins: ['thread', 'run'] })
    : reply(request, run)
}

/**
 * Starts a run with the messages that wait in the thread and those of the request. CONFLICT while another run of the thread
 * goes on, as OpenAI refuses it. A repeat finds no message that waits, so that it starts nothing.
 */
export async function goOn(
  request: KeyedRequest,
  [threadId]: string[],
  response: ServerResponse,
): Promise<KeyedReply | null> {
  const body = await bodyOf(request)
  const given = readRun(body)
  const { projectId, id } = await threadOf(request.ctx, threadId!)
  if (!request.idempotencyKey) {
    const page = { limit: 1, inverted: false }
    const [newest] = await listGenerations(request.ctx, { projectId, filter: { threadId: id }, page })
    if (newest && !isTerminal(newest.storedStatus))
      throw new AppError('CONFLICT', `Thread ${id} already has an active run ${newest.id}.`)
  }
  const run = await start(request, given, { ...body, threadId: id }, id)
  return given.streams
    ? streamRun(request.ctx, response, { run, after: 0, begins: ['run'] })
    : reply(request, run)
}

async function start(
  request: KeyedRequest,
  { assistant, settings, messages }: GivenRun,
  body: JsonObject,
  threadId: string | null,
): Promise<Generation> {
  const { ctx } = request
  const key = keyOf(request)
  const agent = await findAgentToStart(ctx, assistant)
  assertOnlyLast(messages.slice(0, -1).flatMap(({ files }) => files))
  const files = messages.at(-1)?.files ?? []
  const attachments = await attachmentsOf(ctx, agent.projectId, files)
  const { stream: _stream, ...asked } = body
  return startGeneration(
    ctx,
    {
      agentId: agent.id,
      ...settings,
      ...(messages.length > 0 ? { messages: messages.map(({ role, content }) => ({ role, content })) } : {}),
      ...(attachments.length > 0 ? { attachments } : {}),
      ...(threadId ? { threadId } : {}),
      ...(key ? { idempotencyKey: key } : {}),
    },
    { operation: 'assistants:Run', request: { ...asked, files: fingerprints(files) } },
  )
}

export async function listRuns({ ctx, query }: KeyedRequest, [threadId]: string[]): Promise<KeyedReply> {
  const listing = readListing(query)
  const { id, projectId } = await threadOf(ctx, threadId!)
  const page = await pageOf(listing, 'desc', (run) => findRun(ctx, id, run))
  const found = await listGenerations(ctx, { projectId, filter: { threadId: id }, page })
  return { status: 200, body: listBody(await shownRuns(ctx, found), listing.limit) }
}

export async function retrieveRun(request: KeyedRequest, [threadId, id]: string[]): Promise<KeyedReply> {
  return reply(request, await runOf(request.ctx, threadId!, id!))
}

export async function cancelRun(request: KeyedRequest, [threadId, id]: string[]): Promise<KeyedReply> {
  const { id: generationId } = await runOf(request.ctx, threadId!, id!)
  return reply(request, await cancelGeneration(request.ctx, { generationId, reason: null }))
}

/**
 * The outputs of all calls that the run asks for, at once. The same ones again change nothing; different ones are refused,
 * and the first ones hold.
 */
export async function submit(
  request: KeyedRequest,
  [threadId, id]: string[],
  response: ServerResponse,
): Promise<KeyedReply | null> {
  const { ctx } = request
  const run = await runOf(ctx, threadId!, id!)
  const { outputs, streams } = readOutputs(await bodyOf(request))
  const missing = (await openCallsOf(ctx, [run])).find(
    ({ call }) => !outputs.some(({ toolCallId }) => toolCallId === call.id),
  )
  if (missing)
    throw invalidAt(['tool_outputs'], `must have the outputs of all calls: ${missing.call.id} is missing`)
  const { generation, leg } = await answerLeg(ctx, run, { outputs, verdicts: [], callsOnly: true }, [
    'tool_outputs',
  ])
  if (!streams) return reply(request, generation)
  const answered = await getToolCalls(
    ctx,
    outputs.map(({ toolCallId }) => toolCallId),
  )
  const asking = answered.find((call) => call?.generationId === run.id)?.stepIndex ?? undefined
  return streamRun(ctx, response, { run: generation, after: leg.after, begins: [], asking })
}

async function reply({ ctx }: KeyedRequest, run: Generation): Promise<KeyedReply> {
  return { status: 200, body: await shownRun(ctx, run), headers: { 'openai-poll-after-ms': pollAfterMs } }
}

/**
 * The runtime protocol of CopilotKit over the runs of agents, so that its front ends need no runtime of its own between:
 * AG-UI 0.0 with a list of the agents, a way to read a thread again, and a way to stop it.
 */
import { AppError, invalidAt, notFound } from '../../../core/errors.ts'
import { kindOfId } from '../../../core/ids.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import { type Agent, findAgentToStart, listAgents } from '../../../domain/agents/index.ts'
import { isTerminal, cancelGeneration, inputOf } from '../../../domain/generations/index.ts'
import { getToolCalls } from '../../../domain/tool-calls/index.ts'
import { answerSegment, type StartedSegment } from '../segments/answers.ts'
import { newestRun, newestRuns } from '../segments/thread-runs.ts'
import { type AgUiInput, type GivenResult, readInput } from './input.ts'
import { everyRow } from '../../../core/page.ts'
import {
  decodePathPart,
  type ApiCall,
  type ApiReply,
  type AuthenticatedApi,
} from '../../http/authenticated-api.ts'
import { beginPart } from './begin.ts'
import { RunRendering, type ClientTraits } from './events.ts'
import { agUiApi, sendRuns, type ShownRun } from './handler.ts'

/**
 * The newest run of the thread, if the page has messages before the user's that answer what it waits for; else null. A
 * call that the page has without a result is given up: after it was opened anew, CopilotKit does not run it any more.
 */
async function answerFromHistory(ctx: Ctx, agent: Agent, given: AgUiInput): Promise<StartedSegment | null> {
  const { asks, seen, threadId } = given
  if (!asks || seen.calls.size === 0) return null
  const newest = await newestRun(ctx, agent, threadId)
  if (!newest || isTerminal(newest.storedStatus)) return null
  const isLost = (id: string) => kindOfId(id) === 'toolCall' && !seen.results.has(id)
  const results = [...given.earlierResults(), ...[...seen.calls].filter(isLost).map(lost)]
  const calls = await getToolCalls(
    ctx,
    results.map(({ toolCallId }) => toolCallId),
  )
  const outputs = results.filter((_result, i) => calls[i]?.status === 'AWAITING_CLIENT')
  return outputs.length > 0 ? answerSegment(ctx, newest, { outputs, verdicts: [] }, ['messages']) : null
}

const lost = (toolCallId: string): GivenResult => ({
  toolCallId,
  output: 'The page went on without a result of this call.',
  isError: true,
})

/** What the stream ends with when that run waits again, so that the message could not be taken. */
const asksAgain = () =>
  new AppError('CONFLICT', 'The run before asks for more: answer it, then send the message again.')

const client: ClientTraits = { isCurrent: false, runsOpenCalls: true, isAskedLast: true }
/** When it has read a thread again, it runs at most the calls that ask a person. */
const reader: ClientTraits = { ...client, isAskedLast: false }

/** Of how many runs a page without messages gets the messages; the newest. */
const mostRuns = 20

export const copilotKitApi: AuthenticatedApi = {
  resource: '/copilotkit',
  routes: [
    { method: 'GET', path: '/copilotkit/info', head: true, run: ({ request }) => info(request.ctx) },
    { method: 'POST', path: '/copilotkit/agent/{agent}/run', run },
    { method: 'POST', path: '/copilotkit/agent/{agent}/connect', run: connect },
    { method: 'POST', path: '/copilotkit/agent/{agent}/stop/{thread}', run: stop },
  ],
  errorBody,
  missing: ({ path, method }) =>
    /^\/copilotkit\/?$/.test(path) && method === 'POST'
      ? invalidAt(['method'], 'is of the transport "single": only the transport "rest" is served here')
      : notFound('resource', path),
}

const agentOf = ({ request: { ctx }, params }: ApiCall) =>
  findAgentToStart(ctx, decodePathPart(params['agent']!, 'agent'))

/** Its client shows the message beside the error. */
function errorBody(error: AppError, path: string): object {
  return { ...agUiApi.errorBody(error, path), message: error.message }
}

/** What its client reads first. What is left out is not served. */
async function info(ctx: Ctx): Promise<ApiReply> {
  const agents = await everyRow((page) => listAgents(ctx, { page }))
  const listed = agents.map(({ id, name }) => [
    pathPartOf(id, name),
    { name, description: `The agent ${name}.`, className: 'GatehouseAgent' },
  ])
  return {
    status: 200,
    body: {
      version: '1',
      mode: 'sse',
      agents: Object.fromEntries(listed),
      audioFileTranscriptionEnabled: false,
      telemetryDisabled: true,
    },
  }
}

/** The name by which the client puts the agent into a path, unchanged; the id of an agent whose name is no part of one. */
function pathPartOf(id: string, name: string): string {
  return /^\.{1,2}$|[/\\?#%\p{Cc}]/u.test(name) ? id : name
}

async function run(call: ApiCall): Promise<null> {
  const { request, response } = call
  const { ctx, body } = request
  const agent = await agentOf(call)
  const given = readInput(await body())
  const shown = ({ generation, segment }: StartedSegment): ShownRun => {
    const rendering = new RunRendering(given, given.seen, generation.id, client)
    return { generation, segment, rendering, opening: rendering.begin() }
  }
  const begin = async () => shown(await beginPart(ctx, agent, given, true))
  const owed = await answerFromHistory(ctx, agent, given)
  if (!owed) return sendRuns(ctx, response, [await begin()])
  const next = { begin: async () => ({ ...(await begin()), opening: [] }), refused: asksAgain }
  return sendRuns(ctx, response, [{ ...shown(owed), next }])
}

/**
 * Sends the thread to a page without messages: its newest runs from their beginning. A page that has messages gets what
 * it does not have of the newest run. The stream goes on while that run does; a thread without runs has no events.
 */
async function connect(call: ApiCall): Promise<null> {
  const { request, response } = call
  const { ctx, body } = request
  const agent = await agentOf(call)
  const given = readInput(await body())
  const { threadId, seen } = given
  const isNew = given.messages.length === 0
  const runs = await newestRuns(ctx, agent, threadId, isNew ? mostRuns : 1)
  const shown = runs.map((generation, i): ShownRun => {
    const { id } = generation
    const names = { threadId, runId: i === 0 ? given.runId : id }
    const rendering = new RunRendering(names, seen, id, reader)
    const input = isNew ? rendering.input(inputOf(generation)) : []
    return {
      generation,
      segment: { generationId: id, after: 0 },
      rendering,
      opening: [...rendering.begin(), ...input],
    }
  })
  return sendRuns(ctx, response, shown.toReversed())
}

/** Cancels the newest run of the thread, if it goes on or waits. The client's id of a run says nothing here. */
async function stop(call: ApiCall): Promise<ApiReply> {
  const { ctx, body } = call.request
  const agent = await agentOf(call)
  const threadId = decodePathPart(call.params['thread']!, 'thread')
  await body()
  const newest = await newestRun(ctx, agent, threadId)
  const stopped = newest !== null && !isTerminal(newest.storedStatus)
  if (stopped) await cancelGeneration(ctx, { generationId: newest.id, reason: null })
  return { status: 200, body: { stopped } }
}

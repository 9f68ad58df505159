/** Runs of agents: generate, tool outputs, and the state between them. */
import type { Json } from '../../../core/json.ts'
import type { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import {
  isRefusedWithOthers,
  beginGeneration,
  submitToolOutputs,
  type Generation,
} from '../../../domain/generations/index.ts'
import type { ApiReply } from '../../http/authenticated-api.ts'
import { joinsOf, noteDelivered, patienceOf } from '../segments/requests.ts'
import { streamRun, findRun, waitForTurn } from './generation-state.ts'
import { defineRoute, type RouteCall } from './route.ts'
import * as shapes from './shapes.ts'

const path = '/api/v1/agents/{agent_id}/generate'
const runPath = `${path}/{generation_id}`
const tag = 'Agents'
const state = { description: 'The state of the run, whatever it is.', schema: shapes.generation }
const streamed = { ...state, events: shapes.streamedEvent }

async function generate({
  request,
  response,
  params,
  body,
}: RouteCall<z.output<typeof shapes.generate>, unknown>): Promise<ApiReply | null> {
  const { ctx, disconnected } = request
  const maxMs = patienceOf(request)
  const generation = await beginGeneration(
    ctx,
    {
      agentId: params['agent_id']!,
      messages: body.messages.map(({ role, content }) => ({
        role: role === 'user' ? 'USER' : 'ASSISTANT',
        content,
      })),
      idempotencyKey: request.idempotencyKey,
    },
    { joins: joinsOf(request) },
  )
  const sent = () => noteDelivered(ctx, generation, disconnected)
  try {
    if (body.stream) return await streamRun(ctx, { generation, after: null, maxMs, sent }, response)
    return { status: 200, body: await waitForTurn(ctx, generation, maxMs, disconnected), sent }
  } catch (error) {
    // A key may start runs and not read them; this one has started.
    if (!(error instanceof AppError) || error.code !== 'FORBIDDEN' || response.headersSent) throw error
    const { id } = generation
    const started: z.output<typeof shapes.startedGeneration> = { id, generation_id: id, status: 'queued' }
    return { status: 202, body: started, sent }
  }
}

async function read({ request, response, params }: RouteCall<unknown, unknown>): Promise<ApiReply | null> {
  const { ctx, headers, disconnected } = request
  const generation = await findRun(ctx, params['agent_id']!, params['generation_id']!)
  if (!/(^|,)\s*text\/event-stream\b/i.test(headers.accept ?? '')) {
    const maxMs = patienceOf(request, 0)
    return { status: 200, body: await waitForTurn(ctx, generation, maxMs, disconnected) }
  }
  const after = headers['last-event-id']?.toString() || null
  return streamRun(ctx, { generation, after, maxMs: patienceOf(request) }, response)
}

async function submit({
  request,
  params,
  body,
}: RouteCall<z.output<typeof shapes.toolOutputs>, unknown>): Promise<ApiReply> {
  const { ctx, disconnected } = request
  const maxMs = patienceOf(request)
  const { id } = await findRun(ctx, params['agent_id']!, params['generation_id']!)
  const generation = await submitAll(ctx, id, body.tool_outputs)
  return { status: 200, body: await waitForTurn(ctx, generation, maxMs, disconnected) }
}

/** All outputs or none, as SOAT's answer has no place for some of them. Repeats of the same outputs change nothing. */
async function submitAll(
  ctx: Ctx,
  generationId: string,
  given: z.output<typeof shapes.toolOutputs>['tool_outputs'],
): Promise<Generation> {
  const outputs = given.map((one) => ({
    toolCallId: one.tool_call_id,
    output: one.output as Json,
  }))
  const { generation, outcomes } = await submitToolOutputs(ctx, { generationId, outputs, atomic: true })
  const refused = outcomes.flatMap((outcome, i) => (outcome.error ? [{ ...outcome.error, i }] : []))
  if (refused.length === 0) return generation
  const first = refused.find((one) => !isRefusedWithOthers(outcomes[one.i]!)) ?? refused[0]!
  throw new AppError(first.code, `tool_outputs.${first.i}: ${first.message}`, {
    issues: refused.map(({ i, message }) => ({ path: ['tool_outputs', String(i)], message })),
  })
}

export const generationRoutes = [
  defineRoute({
    method: 'POST',
    path,
    operationId: 'createAgentGeneration',
    tag,
    summary:
      'Starts a run and waits until it has ended or waits for its caller, at most 50 seconds or as long as the header ' +
      'Prefer: wait=N says; then it is answered with the state, which can be read again. A repeat with the same ' +
      'Idempotency-Key joins the first run; so does an equal one without a key while that run goes on or its state was ' +
      'not read, unless Gatehouse-Join is off. Permission: generations:Start.',
    body: shapes.generate,
    answers: {
      200: streamed,
      202: {
        description: 'The run has started; the key may not read runs.',
        schema: shapes.startedGeneration,
      },
    },
    headers: ['Prefer', 'Idempotency-Key', 'Gatehouse-Join'],
    run: generate,
  }),
  defineRoute({
    method: 'GET',
    path: runPath,
    operationId: 'getAgentGeneration',
    tag,
    summary:
      'The state of a run, at once or after Prefer: wait=N; with Accept: text/event-stream its events after ' +
      'Last-Event-ID. Permission: generations:Get.',
    answers: { 200: streamed },
    headers: ['Prefer', 'Last-Event-ID'],
    run: read,
  }),
  defineRoute({
    method: 'POST',
    path: `${runPath}/tool-outputs`,
    operationId: 'submitAgentToolOutputs',
    tag,
    summary:
      'Submits outputs of client tool calls, then waits as generate does. The same outputs again change nothing. ' +
      'Permission: generations:SubmitToolOutputs.',
    body: shapes.toolOutputs,
    answers: { 200: state },
    headers: ['Prefer'],
    run: submit,
  }),
]

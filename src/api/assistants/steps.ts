/** The steps of a run in the shapes of the Assistants API: a message that was written, or the calls of one response. */
import { invalidAt, notFound } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Ctx } from '../../domain/access/index.ts'
import { textOf, type Generation, type Step } from '../../domain/generations/index.ts'
import type { ToolCall } from '../../domain/tool-calls/index.ts'
import { masked } from '../../domain/tools/index.ts'
import type { KeyedReply, KeyedRequest } from '../keyed.ts'
import { messageId } from '../runs/message-ids.ts'
import { readSteps } from '../runs/step-reader.ts'
import { listBody, readListing, type Listing } from './lists.ts'
import { runOf } from './request.ts'
import { functionCall, seconds, usageShape, type Shown } from './shapes.ts'

/** The steps of a run that is over or goes on, as far as they are committed. */
export async function listSteps({ ctx, query }: KeyedRequest, [threadId, id]: string[]): Promise<KeyedReply> {
  const listing = readListing(query)
  const run = await runOf(ctx, threadId!, id!)
  const { limit, order, after, before } = listing
  const [from, to] = [placeOf(run, 'after', after), placeOf(run, 'before', before)]
  const isWithin = (step: Shown) => {
    const at = orderOf(run, step.id)!
    const sign = order === 'asc' ? 1 : -1
    return (from === null || sign * (at - from) > 0) && (to === null || sign * (at - to) < 0)
  }
  const shown: Shown[] = []
  for await (const one of stepsBetween(ctx, run, order, { from, to }))
    if (isWithin(one) && shown.push(one) > limit) break
  return { status: 200, body: listBody(shown, limit) }
}

export async function retrieveStep(
  { ctx }: KeyedRequest,
  [threadId, runId, id]: string[],
): Promise<KeyedReply> {
  const run = await runOf(ctx, threadId!, runId!)
  const place = orderOf(run, id!)
  const index = place === null ? null : Math.floor(place / 2)
  const found = index === null ? [] : await readSteps(ctx, run.id, { from: index, to: index })
  const step = found.flatMap((one) => stepsOf(run, one)).find((one) => one.id === id)
  if (!step) throw notFound('run step', id!)
  return { status: 200, body: step }
}

/** How many responses of the model are read at a time. */
const window = 16

/** Those of the responses in which the places are, in this order: a little more than what is between them. */
async function* stepsBetween(
  ctx: Ctx,
  run: Generation,
  order: Listing['order'],
  places: { from: number | null; to: number | null },
): AsyncGenerator<Shown, void, undefined> {
  const isUp = order === 'asc'
  const indexAt = (place: number | null, otherwise: number) =>
    place === null ? otherwise : Math.min(Math.max(1, Math.floor(place / 2)), run.stepCount)
  const [first, last] = isUp ? [1, run.stepCount] : [run.stepCount, 1]
  const end = indexAt(places.to, last)
  for (let index = indexAt(places.from, first); isUp ? index <= end : index >= end;) {
    const far = isUp ? Math.min(end, index + window - 1) : Math.max(end, index - window + 1)
    const range = { from: Math.min(index, far), to: Math.max(index, far) }
    const shown = (await readSteps(ctx, run.id, range)).flatMap((one) => stepsOf(run, one))
    yield* isUp ? shown : shown.toReversed()
    index = isUp ? far + 1 : far - 1
  }
}

function placeOf(run: Generation, name: string, id: string | null): number | null {
  if (id === null) return null
  const place = orderOf(run, id)
  if (place === null) throw invalidAt([name], 'is not an id of this list')
  return place
}

const kinds = ['message', 'calls'] as const
const idShape = /^step_([0-9a-z]{24})_(\d{1,6})_(message|calls)$/

export function stepId(generationId: string, stepIndex: number, kind: (typeof kinds)[number]): string {
  return `step_${generationId.slice('gen_'.length)}_${stepIndex}_${kind}`
}

/** The place of a step in its run; null for an id of no step of it. */
function orderOf(run: Generation, id: string): number | null {
  const [, body, index, kind] = idShape.exec(id) ?? []
  if (`gen_${body}` !== run.id) return null
  return Number(index) * 2 + kinds.indexOf(kind as (typeof kinds)[number])
}

function stepsOf(run: Generation, { step, calls }: { step: Step; calls: ToolCall[] }): Shown[] {
  const steps: Shown[] = []
  const { stepIndex, attempt, createdAt, usage } = step
  const facts = { run, stepIndex, createdAt, usage }
  if (textOf(step.parts))
    steps.push(messageStep({ ...facts, status: 'completed' }, messageId(run.id, stepIndex, attempt)))
  if (calls.length > 0)
    steps.push(
      callsStep(
        { ...facts, status: statusOf(run, calls) },
        calls.map((call) => shownCall(call)),
      ),
    )
  return steps
}

function statusOf({ finishedAt, storedStatus }: Generation, calls: readonly ToolCall[]): StepStatus {
  if (calls.every(({ settledAt }) => settledAt !== null)) return 'completed'
  return finishedAt && storedStatus !== 'COMPLETED' ? 'cancelled' : 'in_progress'
}

export type StepStatus = 'in_progress' | 'completed' | 'failed' | 'cancelled'

export interface StepFacts {
  run: Generation
  stepIndex: number
  createdAt: Date
  status: StepStatus
  usage?: { inputTokens: number; outputTokens: number }
}

export function messageStep(facts: StepFacts, message: string): Shown {
  const details = { type: 'message_creation', message_creation: { message_id: message } }
  return stepShape(facts, 'message', details)
}

export function callsStep(facts: StepFacts, calls: JsonObject[]): Shown {
  return stepShape(facts, 'calls', { type: 'tool_calls', tool_calls: calls })
}

function stepShape(
  { run, stepIndex, createdAt, status, usage }: StepFacts,
  kind: (typeof kinds)[number],
  details: JsonObject & { type: string },
): Shown {
  const at = seconds(createdAt)
  const message = 'The response was given up before its end; the model is asked again.'
  return {
    id: stepId(run.id, stepIndex, kind),
    object: 'thread.run.step',
    created_at: at,
    assistant_id: run.agentId,
    thread_id: run.threadId,
    run_id: run.id,
    type: details.type,
    status,
    step_details: details,
    last_error: status === 'failed' ? { code: 'server_error', message } : null,
    expired_at: null,
    cancelled_at: status === 'cancelled' ? at : null,
    failed_at: status === 'failed' ? at : null,
    completed_at: status === 'completed' ? at : null,
    metadata: {},
    usage: usage ? usageShape(usage.inputTokens, usage.outputTokens) : null,
  }
}

/** A call with its output, null while it has none. Masked arguments are not shown. */
export function shownCall(call: ToolCall): JsonObject {
  const text = (call.result?.content ?? [])
    .map((block) => (block.type === 'text' ? block.text : `[${block.type}]`))
    .join('\n')
  return functionCall(call, masked(call.arguments ?? {}, call.masked), call.settledAt ? text : null)
}

/**
 * Reads a segment from the log of its run, with its steps: what happened, in order, up to the pause or the end that
 * ends the segment.
 */
import { AppError, notFound } from '../../../core/errors.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import {
  showStepsBetween,
  type Step,
  getGenerations,
  isTerminal,
  readEvents,
  watchGeneration,
  type Generation,
} from '../../../domain/generations/index.ts'
import {
  showCallsBetween,
  type StepRange,
  type ToolCall,
  getToolCalls,
} from '../../../domain/tool-calls/index.ts'
import { getApprovals, isAsked, type Approval } from '../../../domain/approvals/index.ts'
import {
  approvalRequested,
  generationCancelled,
  generationCompleted,
  generationExpired,
  generationFailed,
  messageCommitted,
  readGenerationEvents,
  requiresAction,
  stepReset,
  toolCallSettled,
  type RecordedEvent,
  type StreamItem,
} from '../../../domain/events/index.ts'
import type { RunSegment } from './segments.ts'

/** A step and the calls that it made, in their order. A call has at least the state of the step's commit. */
export interface StepWithCalls {
  step: Step
  calls: ToolCall[]
}

/** How many steps are read ahead. They are kept until one beyond them is asked for. */
const ahead = 16

/**
 * Returns the function that gives the step of an index, or undefined when it is not committed. RESPONSE_TOO_LARGE when one
 * step and its calls are too large by themselves, however large the run is.
 */
export function createStepReader(
  ctx: Ctx,
  generationId: string,
): (index: number) => Promise<StepWithCalls | undefined> {
  const read = async (range: StepRange): Promise<Map<number, StepWithCalls>> =>
    new Map((await readSteps(ctx, generationId, range)).map((one) => [one.step.stepIndex, one]))
  let known = new Map<number, StepWithCalls>()
  return async (index) => {
    if (!known.has(index))
      known = await read({ from: index, to: index + ahead - 1 }).catch((error: unknown) => {
        if (!(error instanceof AppError) || error.code !== 'RESPONSE_TOO_LARGE') throw error
        return read({ from: index, to: index })
      })
    return known.get(index)
  }
}

/** The steps of a run in this range, in their order, each with its calls. RESPONSE_TOO_LARGE when they are. */
export async function readSteps(ctx: Ctx, generationId: string, range: StepRange): Promise<StepWithCalls[]> {
  const [steps, calls] = await Promise.all([
    showStepsBetween(ctx.db, generationId, range),
    showCallsBetween(ctx.db, generationId, range),
  ])
  return steps.map((step) => ({ step, calls: calls.filter((call) => call.stepIndex === step.stepIndex) }))
}

/** Something that a client of a run may be told. `seq` is the number of the event that it follows from. */
export type RunUpdate = { seq: number } & (
  | { type: 'text'; stepIndex: number; attempt: number; offset: number; text: string }
  /** Text on its way of this attempt will not be committed. */
  | { type: 'reset' }
  /** A response of the model, with the calls that it made. */
  | { type: 'step'; step: Step; calls: ToolCall[] }
  /** A call that ran here, or was refused. */
  | { type: 'call'; call: ToolCall }
  /** A call for the client that was answered, refused or given up. */
  | { type: 'clientCall'; call: ToolCall }
  /** Calls that the client runs now. The segment ends with them. */
  | { type: 'clientCalls'; calls: ToolCall[] }
  /** Questions that this caller may answer. `ends`: the segment ends with them. */
  | { type: 'approvals'; approvals: Approval[]; ends: boolean }
  | { type: 'end'; generation: Generation }
)

/** The run of a segment. NOT_FOUND when it does not exist for the caller, also for a place that its log has not reached. */
export async function runOf(ctx: Ctx, { generationId, after }: RunSegment, id: string): Promise<Generation> {
  const [generation] = await getGenerations(ctx, [generationId])
  if (!generation || after > generation.lastSeq) throw notFound('response', id)
  return generation
}

/**
 * What happened in the segment. With `waits` it goes on live until the segment ends, the iterator is closed or the signal fires;
 * else it stops where the log ends now. Action `events:Subscribe` to wait, checked before this resolves; else
 * `generations:Get`. Who does not iterate it must fire the signal.
 */
export async function readSegment(
  ctx: Ctx,
  generation: Generation,
  { after }: RunSegment,
  waits: boolean,
  signal: AbortSignal,
): Promise<AsyncGenerator<RunUpdate, void, undefined>> {
  const stream = waits ? await watchGeneration(ctx, { generationId: generation.id, after }) : null
  const items = stream ?? storedEvents(ctx, generation, after)
  // A client that has gone must free the subscriber also while nothing happens, and before anything was read.
  const leave = () => void items.return?.()
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  return runUpdates(ctx, generation, items, signal, leave)
}

async function* runUpdates(
  ctx: Ctx,
  generation: Generation,
  items: AsyncIterableIterator<StreamItem>,
  signal: AbortSignal,
  leave: () => void,
): AsyncGenerator<RunUpdate, void, undefined> {
  const reader = createReader(ctx, generation)
  try {
    if (signal.aborted) return
    for await (const item of items) {
      if ('delta' in item) {
        const { after: seq, stepIndex, attempt, offset, text } = item.delta
        yield { type: 'text', seq, stepIndex, attempt, offset, text }
        continue
      }
      for (const one of await reader(item.event)) {
        yield one
        if (endsSegment(one)) return
      }
    }
  } finally {
    signal.removeEventListener('abort', leave)
    leave()
  }
}

/** Whether nothing follows in the segment. */
export function endsSegment(one: RunUpdate): boolean {
  return one.type === 'end' || one.type === 'clientCalls' || (one.type === 'approvals' && one.ends)
}

async function* storedEvents(
  ctx: Ctx,
  generation: Generation,
  from: number,
): AsyncGenerator<StreamItem, undefined> {
  for (let after = from; ;) {
    const { events, more } = await readEvents(ctx, generation, { after, first: 200 })
    for (const event of events) yield { event }
    if (!more || events.length === 0) return undefined
    after = events.at(-1)!.seq!
  }
}

/** Turns events into what a client is told. It keeps the questions of a commit until it knows all of them. */
function createReader(ctx: Ctx, generation: Generation) {
  const commit = { order: -1, stepIndex: 0 }
  const stepAt = createStepReader(ctx, generation.id)
  let asked: string[] = []
  return async (event: RecordedEvent): Promise<RunUpdate[]> => {
    const seq = event.seq!
    switch (event.type) {
      case messageCommitted.type: {
        Object.assign(commit, { order: event.commitOrder, stepIndex: event.data.stepIndex })
        asked = []
        const found = await stepAt(event.data.stepIndex)
        return [{ type: 'step', seq, ...found! }]
      }
      case stepReset.type:
        return [{ type: 'reset', seq }]
      case toolCallSettled.type: {
        const [call] = await getToolCalls(ctx, [event.data.toolCallId])
        return call ? [{ type: call.kind === 'client' ? 'clientCall' : 'call', seq, call }] : []
      }
      case requiresAction.type: {
        const found = await getToolCalls(ctx, event.data.toolCallIds)
        return [{ type: 'clientCalls', seq, calls: found.filter((call) => call !== null) }]
      }
      case approvalRequested.type: {
        asked.push(event.data.approvalId)
        const inStep = event.commitOrder === commit.order
        const own = (inStep ? await stepAt(commit.stepIndex) : undefined)?.calls ?? []
        const questions = own.filter((call) => call.approvalId !== null).length
        if (inStep && asked.length < questions) return []
        const approvals = await askedOf(ctx, asked)
        asked = []
        const follows = own.some(({ kind }) => kind === 'client') && (await asksNext(ctx, generation, event))
        return approvals.length > 0 ? [{ type: 'approvals', seq, approvals, ends: !follows }] : []
      }
      case generationCompleted.type:
      case generationFailed.type:
      case generationCancelled.type:
      case generationExpired.type: {
        const [ended] = await getGenerations(ctx, [generation.id])
        return ended && isTerminal(ended.storedStatus) ? [{ type: 'end', seq, generation: ended }] : []
      }
      default:
        return []
    }
  }
}

/** Whether client calls of the same commit follow, with an event of their own, which ends the segment. */
async function asksNext(
  ctx: Ctx,
  generation: Generation,
  { seq, commitOrder }: RecordedEvent,
): Promise<boolean> {
  const [next] = (await readGenerationEvents(ctx, generation.id, { after: seq!, first: 1 })).events
  return next?.type === requiresAction.type && next.commitOrder === commitOrder
}

async function askedOf(ctx: Ctx, ids: string[]): Promise<Approval[]> {
  const found = (await getApprovals(ctx, ids)).filter((one) => one !== null)
  const mine = await isAsked(ctx, found)
  return found.filter((_one, i) => mine[i])
}

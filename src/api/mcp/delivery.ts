/** Delivering an answer that may take minutes: four ways, chosen by what the client can do (decision 9). */
import { inputRequired, type ServerContext } from '@modelcontextprotocol/server'
import { onAbort } from '../../core/abort.ts'
import {
  answerWork,
  cancelWork,
  fetched,
  noteBack,
  noteGone,
  readWork,
  waitForWork,
  type BridgeEntry,
  type Work,
} from '../../domain/bridge/index.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Generation } from '../../domain/generations/index.ts'
import type { TaskPolicy } from '../../domain/tools/index.ts'
import type { ToolCall } from '../../domain/tool-calls/index.ts'
import type { Question } from './asks.ts'
import { progressOf, tellTalk, tellWaiting } from './progress.ts'
import { callerOf } from './relay.ts'
import { doneResult, lateResult, pendingResult, withConversation } from './results.ts'
import { roundCodec } from './rounds.ts'
import { declaresTasks, newTask, type CallAnswer } from './tasks.ts'
import type { Visit } from './visit.ts'

/** Sends a message on the stream of the request. */
export type Send = (message: object) => Promise<void>

export interface Delivery {
  visit: Visit
  mcp: ServerContext
  send: Send
  /** Of name and arguments: the next round must be of the same request. */
  requestHash: string
  /** What was called. */
  entry: BridgeEntry
  /** How often the client came back. */
  round: number
  /** The caller can find the work again by a key or id of its own: hanging up does not end it. */
  keyed: boolean
}

/** A call that was placed here, a run that was started, or work that is known already. */
type Begun =
  | { call: ToolCall; running: Promise<ToolCall> | null }
  | { work: Work; running: Promise<ToolCall> }
  | { generation: Generation }
  | Work

/** Waits as long as this client can be made to wait, and answers what it can be told then. */
export async function deliver(delivery: Delivery, begun: Begun): Promise<CallAnswer> {
  const { visit, mcp, entry } = delivery
  const stopLeaving = onLeaving(delivery, idOf(begun))
  try {
    if (declaresTasks(visit, mcp) && taskModeOf(entry) !== 'NEVER') return await asTask(delivery, begun)
    if ('running' in begun && begun.running) {
      const call = await begun.running
      if (call.result) return doneResult(visit, call.id, call.result)
    }
    return await follow(delivery, await readWork(visit.ctx, idOf(begun)))
  } finally {
    stopLeaving()
  }
}

/** Whether calls of it may, must or must not be tasks. */
export function taskModeOf(entry: BridgeEntry): TaskPolicy['mode'] {
  return entry.kind === 'tool' ? entry.task.mode : 'OPTIONAL'
}

function idOf(begun: Begun): string {
  if ('call' in begun) return begun.call.id
  if ('work' in begun) return begun.work.id
  return 'generation' in begun ? begun.generation.id : begun.id
}

/** First way: a handle at once, unless the answer is there in a moment. */
async function asTask(delivery: Delivery, begun: Begun): Promise<CallAnswer> {
  const { visit } = delivery
  const { ctx, times } = visit
  if ('running' in begun) begun.running?.catch(() => {})
  const work = await waitForWork(ctx, await readWork(ctx, idOf(begun)), {
    maxMs: times.taskAfterMs,
    signal: visit.gone,
    enough: (seen) => seen.status !== 'RUNNING',
  })
  if (work.status === 'ASKS' && !isParked(delivery)) return askCaller(delivery, work)
  const atOnce = work.result !== null && work.status === 'DONE' && taskModeOf(delivery.entry) !== 'REQUIRED'
  return atOnce ? finished(visit, work) : newTask(visit, work)
}

/** The other three: rounds, signs of life, or a bounded hold. */
async function follow(delivery: Delivery, first: Work): Promise<CallAnswer> {
  const { visit, mcp } = delivery
  if (first.abandoned) await noteBack(visit.ctx, first)
  const progress = progressOf(visit, mcp)
  const stopTelling = progress ? tellTalk(visit, progress, first.id) : () => {}
  const holds = Date.now() + holdOf(visit, progress !== null)
  let runLeft = visit.times.runMs
  let work = first
  try {
    for (;;) {
      if (work.status === 'DONE' || work.status === 'CANCELLED') return await finished(visit, work)
      if (work.status === 'ASKS') {
        if (visit.era === 'modern') return await askCaller(delivery, work)
        work = await askOnStream(delivery, work)
        continue
      }
      const from = work.status
      const began = Date.now()
      const maxMs = from === 'WAITING' ? Math.max(0, holds - began) : runLeft
      const stopTicking = progress && from === 'WAITING' ? tellWaiting(visit, progress, work) : () => {}
      work = await waitForWork(visit.ctx, work, {
        maxMs,
        signal: visit.calledOff ? AbortSignal.any([visit.gone, visit.calledOff]) : visit.gone,
        enough: (seen) => seen.status !== from,
      }).finally(stopTicking)
      if (from === 'RUNNING') runLeft -= Date.now() - began
      if (work.status === from) return await notYet(delivery, work)
    }
  } finally {
    stopTelling()
  }
}

/** How long the request is held while a person decides. */
function holdOf({ era, times }: Visit, tells: boolean): number {
  if (era === 'modern') return times.roundHoldMs
  return tells ? Infinity : times.inlineHoldMs
}

async function notYet(delivery: Delivery, work: Work): Promise<CallAnswer> {
  const { visit, mcp, requestHash, round, keyed } = delivery
  if (work.status === 'RUNNING')
    return withConversation(lateResult(visit, work.id, keyed), work.conversationId)
  if (visit.era === 'legacy')
    return withConversation(pendingResult(work, visit.times.progressMs), work.conversationId)
  const state = { workId: work.id, round: round + 1, requestHash }
  return inputRequired({ requestState: await roundCodec(visit.ctx, visit.agentId).mint(state, mcp) })
}

/** What an upstream wants to know, for a client that can come back with answers. */
async function askCaller(delivery: Delivery, work: Work): Promise<CallAnswer> {
  const { visit, mcp, requestHash, round } = delivery
  const state = { workId: work.id, round: round + 1, requestHash }
  return inputRequired({
    inputRequests: work.asked as never,
    requestState: await roundCodec(visit.ctx, visit.agentId).mint(state, mcp),
  })
}

/** The same for a client of the old era: it is asked on its stream, and the call goes on with what it says. */
async function askOnStream({ visit, mcp, send }: Delivery, work: Work): Promise<Work> {
  const answers: JsonObject = {}
  for (const [key, request] of Object.entries(work.asked!)) {
    const { method, params = {} } = request as unknown as Question
    const answer = await visit.askable?.ask({ method, params }, send).catch(() => null)
    if (!answer) {
      // Whoever refuses, or cannot be asked, takes the call back.
      await cancelWork(visit.ctx, work.id)
      return readWork(visit.ctx, work.id)
    }
    answers[key] = answer
  }
  const given = await answerWork(visit.ctx, work.id, answers, callerOf(visit, mcp, send))
  await given?.running
  return readWork(visit.ctx, work.id)
}

/** Whether this tool asks inside its task and not before there is one. */
function isParked({ entry }: Delivery): boolean {
  return entry.kind === 'tool' && entry.task.inputPhase === 'IN_TASK'
}

async function finished(visit: Visit, work: Work): Promise<CallAnswer> {
  // Nobody hears an answer to a client that hung up: the outcome stays to be fetched by its next request.
  if (!visit.gone.aborted) await fetched(visit.ctx, work)
  const cancelled = { content: [{ type: 'text' as const, text: 'The call was cancelled.' }], isError: true }
  const result = doneResult(visit, work.id, work.result ?? cancelled)
  return withConversation(result, work.conversationId)
}

/**
 * What follows when the client takes the request back or hangs up. The new era calls hanging up a cancellation: what
 * runs is ended; what waits for a person stays a while, for the client may come back. In the old era it means nothing.
 */
function onLeaving({ visit, keyed }: Delivery, id: string): () => void {
  const { ctx, gone, calledOff, era, log, times } = visit
  const quietly = (work: Promise<unknown>) =>
    void work.catch((error: unknown) => log.warn({ err: error, id }, 'a call could not be taken back'))
  const takeBack = () => quietly(cancelWork(ctx, id))
  const hungUp = () => {
    if (era === 'modern' && !keyed) quietly(leave())
  }
  const leave = async () => {
    const work = await readWork(ctx, id)
    if (work.status === 'WAITING' && id.startsWith('call_')) await noteGone(ctx, work, times.graceMs)
    else await cancelWork(ctx, id)
  }
  // Either may have happened while the work began.
  const forget = [onAbort(calledOff, takeBack), onAbort(gone, hungUp)]
  return () => forget.forEach((end) => end())
}

/**
 * Tells an answer while it is made: the run that a request is about, what follows in the same answer, and in words
 * when a person must decide first.
 */
import type { Generation } from '../../../domain/generations/index.ts'
import { failureText } from '../segments/presentation.ts'
import { setTimeout as pause } from 'node:timers/promises'
import type { Ctx } from '../../../domain/access/index.ts'
import { loadPendingUnder, summaryOf, type Approval } from '../../../domain/approvals/index.ts'
import { readGenerationEvents, requiresAction } from '../../../domain/events/index.ts'
import type { StartedSegment } from '../segments/answers.ts'
import { followRun } from '../segments/follow.ts'
import type { RunUpdate } from '../segments/segment-log.ts'
import type { Answer, Delta } from './answer.ts'
import type { AnswerSource } from './begin.ts'
import { noteAnswer, type Conversation } from './conversation.ts'
import { answerMessage } from './messages.ts'

/** Runs that did not complete: how a client is told. */
interface Failure {
  status: number
  body: { error: { message: string; type: string; code: string; param: null } }
}

/** The status and code of a failure; clients send a request again by themselves when waiting may help. */
const failures: Record<string, [status: number, type: string, code: string]> = {
  MODEL_RATE_LIMITED: [429, 'rate_limit_error', 'rate_limit_exceeded'],
  MODEL_BAD_REQUEST: [400, 'invalid_request_error', 'invalid_prompt'],
  CONTEXT_OVERFLOW: [400, 'invalid_request_error', 'context_length_exceeded'],
}
const serverError: [number, string, string] = [500, 'server_error', 'server_error']

/** How the end of the run is told as an error; null for one that completed. */
function failureOf(ended: Generation): Failure | null {
  const { storedStatus, error } = ended
  if (storedStatus === 'COMPLETED') return null
  // Nobody sends a 400 again by itself: somebody has cancelled the run, or its time is over.
  const [status, type, code] =
    storedStatus === 'FAILED'
      ? (failures[error?.code ?? ''] ?? serverError)
      : [400, 'invalid_request_error', `run_${storedStatus.toLowerCase()}`]
  const message = storedStatus === 'CANCELLED' ? 'The run was cancelled.' : failureText(ended)
  return { status, body: { error: { message, type, code, param: null } } }
}

/** The run waits for these approvals, and the client is not kept any longer. */
interface HeldRun {
  type: 'held'
  approvals: Approval[]
}

/** How often a run is looked at that may reach a gate when its client is not kept any longer, in milliseconds. */
const lookMs = 1000

/**
 * What happens in the run up to its end, to calls for this client, or to a gate at which it waits at the time `keptUntil`, by the
 * monotonic clock, or later. A gate that is decided before is passed. Action `events:Subscribe`, checked before this resolves.
 */
async function followHeld(
  ctx: Ctx,
  { generation, segment }: StartedSegment,
  keptUntil: number,
  gone: AbortSignal,
): Promise<AsyncGenerator<RunUpdate | HeldRun, void, undefined>> {
  const over = new AbortController()
  const signal = AbortSignal.any([gone, over.signal])
  const runUpdates = await followRun(ctx, generation, segment, signal, true)
  const known = { seq: segment.after }
  const held = heldFrom(ctx, generation.id, known, keptUntil, signal)
  // It may fail before anybody waits for it; whoever does gets the error.
  held.catch(() => {})
  return untilHeld(runUpdates, known, held, over)
}

/** The event up to which the client knows the log. */
interface Position {
  seq: number
}

async function* untilHeld(
  runUpdates: AsyncGenerator<RunUpdate, void, undefined>,
  known: Position,
  held: Promise<HeldRun | null>,
  over: AbortController,
): AsyncGenerator<RunUpdate | HeldRun, void, undefined> {
  try {
    for (;;) {
      const next = await Promise.race([runUpdates.next(), held])
      if (next === null) return
      if ('type' in next) return yield next
      if (next.done) return
      known.seq = next.value.seq
      yield next.value
    }
  } finally {
    over.abort()
  }
}

/** Resolves when the run waits at a gate at that time or later; null when the signal fires. */
async function heldFrom(
  ctx: Ctx,
  id: string,
  known: Position,
  time: number,
  signal: AbortSignal,
): Promise<HeldRun | null> {
  for (let waitMs = Math.max(0, time - performance.now()); ; waitMs = lookMs) {
    const isOver = await pause(waitMs, true, { signal }).catch(() => false)
    if (!isOver) return null
    const approvals = await loadPendingUnder(ctx.db, id)
    if (approvals.length > 0 && !(await hasCalls(ctx, id, known))) return { type: 'held', approvals }
  }
}

/** Whether calls for the client are in the log, of which it was not told yet: they go before the words. */
async function hasCalls(ctx: Ctx, id: string, { seq }: Position): Promise<boolean> {
  for (let after = seq; ;) {
    const { events, more } = await readGenerationEvents(ctx, id, { after, first: 200 })
    if (events.some(({ type }) => type === requiresAction.type)) return true
    if (!more) return false
    after = events.at(-1)!.seq!
  }
}

/** Clients show Markdown: what came with a call must be no link in it. */
const asCode = (text: string) => `\`${text.replaceAll('`', '’')}\``

/** The most questions that are named. */
const mostNamed = 5

/** What the client is told instead of an answer. */
function wordsOf(ctx: Ctx, { approvals }: HeldRun): string {
  const lines = approvals
    .slice(0, mostNamed)
    .map((one) => `- ${asCode(summaryOf(one).text)}: ${ctx.publicUrl()}/approvals/${one.id}`)
  const more = approvals.length - lines.length
  return [
    approvals.length === 1 ? 'This waits for an approval:' : `This waits for ${approvals.length} approvals:`,
    ...lines,
    ...(more > 0 ? [`- and ${more} more`] : []),
    '',
    'Nothing was lost: send the same request again, or any message, to go on when it is decided.',
  ].join('\n')
}

/** How an answer ended. Its places are noted. */
export interface Ending {
  /** Null for an answer. */
  failure: Failure | null
  /** The runs whose answers are in it; not those that still wait for people. */
  answered: Generation[]
}

export type Deltas = AsyncGenerator<Delta, Ending | null, undefined>

/**
 * Yields what is said, and returns how it ended, or null when the signal `gone` fires before: then only a run is noted that
 * waits at a gate. A gate keeps the client until the time `keptUntil` (`followHeld`). Action `events:Subscribe`, checked before
 * this resolves.
 */
export async function streamAnswer(
  ctx: Ctx,
  conversation: Conversation,
  begun: AnswerSource,
  answer: Answer,
  keptUntil: number,
  gone: AbortSignal,
): Promise<Deltas> {
  const follow = (one: AnswerSource) => followHeld(ctx, one, keptUntil, gone)
  return deltasOf(ctx, conversation, begun, answer, await follow(begun), follow)
}

type Updates = AsyncGenerator<RunUpdate | HeldRun, void, undefined>

async function* deltasOf(
  ctx: Ctx,
  conversation: Conversation,
  begun: AnswerSource,
  answer: Answer,
  first: Updates,
  follow: (one: AnswerSource) => Promise<Updates>,
): Deltas {
  const answered: Generation[] = []
  for (let at = begun, runUpdates = first; ; runUpdates = await follow(at)) {
    let { after } = at.segment
    let last: RunUpdate | HeldRun | null = null
    for await (const one of runUpdates) {
      last = one
      if (one.type === 'held') yield* answer.say(wordsOf(ctx, one))
      else {
        after = one.seq
        yield* answer.add(one)
      }
    }
    const [isEnd, isHeld] = [last?.type === 'end', last?.type === 'held']
    if (!isEnd && !isHeld && last?.type !== 'clientCalls') {
      await noteLeft(ctx, conversation, at, after, answer)
      return null
    }
    if (!isHeld) answered.push(at.generation)
    if (isEnd && at.next) {
      at = await at.next()
      continue
    }
    const failure = last?.type === 'end' ? failureOf(last.generation) : null
    const said = failure ? null : answerMessage(answer.text, answer.calls)
    await noteAnswer(ctx, conversation, { ...at, answer: said, after, isTold: !isHeld })
    return { failure, answered }
  }
}

/** Notes that the client has left a run at a gate: the answer is owed, as after words, and its next message finds the run. */
async function noteLeft(
  ctx: Ctx,
  conversation: Conversation,
  at: AnswerSource,
  after: number,
  { text, calls }: Answer,
): Promise<void> {
  const approvals = await loadPendingUnder(ctx.db, at.generation.id)
  if (approvals.length === 0) return
  await noteAnswer(ctx, conversation, { ...at, answer: answerMessage(text, calls), after, isTold: false })
}

/** Tells an answer while it is made: the run that a request is about, and what follows in the same answer. */
import type { Ctx } from '../../../domain/access/index.ts'
import { loadPendingUnder } from '../../../domain/approvals/index.ts'
import type { Generation } from '../../../domain/generations/index.ts'
import type { RunUpdate } from '../segments/segment-log.ts'
import type { Answer, Delta } from './answer.ts'
import type { AnswerSource } from './begin.ts'
import { noteAnswer, type Conversation } from './conversation.ts'
import { failureOf, type Failure } from './failed.ts'
import { followHeld, wordsOf, type Held } from './hold.ts'
import { answerMessage } from './messages.ts'

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

type Updates = AsyncGenerator<RunUpdate | Held, void, undefined>

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
    let last: RunUpdate | Held | null = null
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

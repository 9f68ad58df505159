/** What a posted chat begins: a run for a message of the user, or the next part of a run whose pause it answers. */
import { invalidAt } from '../../../core/errors.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import type { Agent } from '../../../domain/agents/index.ts'
import { waitFor } from '../../../domain/calls/index.ts'
import {
  getGenerations,
  isTerminal,
  beginGeneration,
  ThreadMovedOnError,
  type Generation,
  type StartGenerationInput,
} from '../../../domain/generations/index.ts'
import { answerSegment, type StartedSegment } from '../segments/answers.ts'
import {
  afterLastCalls,
  assertOver,
  fingerprintOf,
  inputOf,
  keyOf,
  newestIn,
  type TurnMessage,
} from '../segments/thread-runs.ts'
import { runOf } from '../segments/segment-log.ts'
import { runOfMessage } from './chunks.ts'
import type { ChatRequest } from './input.ts'
import { isHistory, isOwn, newestOfChat, notePlace, readPlace, type ChatPlace } from './place.ts'

const operation = 'chat:Send'

/** How long a message waits for the end of a run that was stopped, in milliseconds. */
const stopMs = 10_000

/** A repeat of the same answers goes on where they led, and so does a repeat of a message. */
export async function beginPart(ctx: Ctx, agent: Agent, given: ChatRequest): Promise<StartedSegment> {
  if (given.answers) return answerPause(ctx, agent, given)
  const generation = await startMessage(ctx, agent, given)
  return { generation, segment: { generationId: generation.id, after: 0 } }
}

/** The pause is that of the run which our last message shows. */
async function answerPause(ctx: Ctx, agent: Agent, given: ChatRequest): Promise<StartedSegment> {
  const { id } = given.messages.at(-1)!
  const at = ['messages', String(given.messages.length - 1)]
  const generationId = runOfMessage(id)
  if (!generationId) throw invalidAt([...at, 'id'], 'is not the id of a message of a run')
  const generation = await runOf(ctx, { generationId, after: 0 }, id)
  if (!isOwn(ctx, agent, generation))
    throw invalidAt([...at, 'id'], 'is the id of a message of another agent, or of another caller')
  return answerSegment(ctx, generation, given.answers!, [...at, 'parts'])
}

/**
 * Starts the run of the last message, with the history that the page shows before it. CONFLICT while a run of the chat
 * goes on or waits, but for a repeat of what started it.
 */
async function startMessage(ctx: Ctx, agent: Agent, given: ChatRequest): Promise<Generation> {
  const { chatId, messages, isAgain } = given
  const last = messages.at(-1)!
  const newest = await whenStopped(ctx, await newestOfChat(ctx, agent, chatId))
  const place = await readPlace(ctx, agent, chatId, messages)
  const key = isAgain ? null : keyOf(agent, chatId, last)
  if (newest && !isTerminal(newest.storedStatus)) {
    if (isAgain && place.asked?.id === newest.id) return newest
    await assertOver(ctx, newest, { operation, key })
  }
  const generation = await startAfter(ctx, agent, given, place, { isNew: !newest, key })
  // A late repeat does not move the chat back.
  if (!newest || generation.createdAt >= newest.createdAt)
    await notePlace(ctx, agent, chatId, last, generation)
  return generation
}

/** The run once it has ended, when it was stopped: a page sends its next message right after. */
async function whenStopped(ctx: Ctx, run: Generation | null): Promise<Generation | null> {
  if (!run?.cancelRequestedAt || isTerminal(run.storedStatus)) return run
  const read = async () => (await getGenerations(ctx, [run.id]))[0] ?? run
  return waitFor(ctx, run, read, { maxMs: stopMs, enough: (seen) => isTerminal(seen.storedStatus) })
}

type Input = Omit<StartGenerationInput, 'agentId'>

/** Continues the thread of the run that the page shows last while that is its newest; else begins one with what the page shows. */
async function startAfter(
  ctx: Ctx,
  agent: Agent,
  { chatId, messages, isAgain, settings }: ChatRequest,
  { asked, shown }: ChatPlace,
  { isNew, key }: { isNew: boolean; key: string | null },
): Promise<Generation> {
  const request = isAgain
    ? { chatId, messages: messages.map(fingerprintOf) }
    : { chatId, message: fingerprintOf(messages.at(-1)!) }
  const start = async (said: readonly TurnMessage[], where: Input, follows?: string) =>
    beginGeneration(
      ctx,
      {
        agentId: agent.id,
        ...(said.length > 0 ? await inputOf(ctx, agent, said) : {}),
        ...where,
        ...settings,
        ...(key === null ? {} : { idempotencyKey: key }),
      },
      { operation, request, joins: key === null, ...(follows ? { follows } : {}) },
    )
  const goesOn = isAgain && asked && isTerminal(asked.storedStatus) && asked.storedStatus !== 'COMPLETED'
  const history = goesOn ? await afterLastCalls(ctx, asked) : null
  if (history) return start([], { retryOf: history })
  if (isNew) return start(messages, { externalThreadId: chatId })
  const [base] = shown
  if (base) {
    await assertOver(ctx, base.run, { operation, key })
    try {
      const { id, threadId } = base.run
      return await start(messages.slice(base.length), { threadId }, id)
    } catch (error) {
      if (!(error instanceof ThreadMovedOnError)) throw error
    }
    // Another page may have been faster.
    const [newest] = await newestIn(ctx, agent, base.run.threadId, 1)
    if (newest) await assertOver(ctx, newest, { operation, key })
  }
  const fork = shown.find(({ run }) => isHistory(run))
  if (!fork) return start(messages, {})
  const { id: generationId, stepCount: step } = fork.run
  return start(messages.slice(fork.length), { retryOf: { generationId, step } })
}

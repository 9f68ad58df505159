/** What a request for an answer starts, or goes on with: nothing runs twice, whichever request is sent again. */
import { invalidAt, AppError } from '../../../core/errors.ts'
import { hasAsked, type Ctx } from '../../../domain/access/index.ts'
import {
  beginGeneration,
  ThreadMovedOnError,
  type Generation,
  type StartGenerationInput,
  getGenerations,
  isTerminal,
} from '../../../domain/generations/index.ts'
import { assertOnlyLast, attachmentsOf } from '../segments/given-files.ts'
import { type HistoryUpTo, afterLastCalls } from '../segments/thread-runs.ts'
import type { Conversation, KnownPlace } from './conversation.ts'
import type { GivenRequest } from './input.ts'
import type { GivenMessage } from './messages.ts'
import { kindOfId } from '../../../core/ids.ts'
import { getToolCalls } from '../../../domain/tool-calls/index.ts'
import { answerSegment, type StartedSegment } from '../segments/answers.ts'

/** Starts runs for messages of a conversation. An equal request finds the run that the first one started. */
interface HowToStart {
  idempotencyKey: string | null
  /** An equal request finds the run of the first one. */
  joins: boolean
  /** The client says that it sends the request again by itself. */
  isRetry: boolean
}

interface Starter {
  /** A run of messages that begin a conversation; the last one is the user's. */
  anew(messages: readonly GivenMessage[]): Promise<Generation>
  /** In the thread of the earlier run as long as that is its newest; else it forks. */
  after(earlier: Generation, messages: readonly GivenMessage[]): Promise<Generation>
  /** In a thread of its own, with the history of the earlier run up to its end. */
  fork(earlier: Generation, messages: readonly GivenMessage[]): Promise<Generation>
  /** With the history up to a step with calls, and no message. */
  goOn(history: HistoryUpTo): Promise<Generation>
}

type Input = Omit<StartGenerationInput, 'agentId'>

function createStarter(
  ctx: Ctx,
  { settings }: GivenRequest,
  { agent, hash }: Conversation,
  { idempotencyKey, joins }: HowToStart,
): Starter {
  const start = (input: Input, follows?: string) =>
    beginGeneration(
      ctx,
      { agentId: agent.id, ...input, ...settings, ...(idempotencyKey ? { idempotencyKey } : {}) },
      {
        operation: 'completions:Create',
        request: { messages: hash, settings },
        joins,
        ...(follows ? { follows } : {}),
      },
    )
  const inputOf = (messages: readonly GivenMessage[]) => readInput(ctx, agent.projectId, messages)
  const forked = async ({ id: generationId, stepCount: step }: Generation, input: Promise<Input>) =>
    start({ ...(await input), retryOf: { generationId, step } })
  return {
    anew: async (messages) => start(await inputOf(messages)),
    async after(earlier, messages) {
      const input = inputOf(messages)
      try {
        return await start({ ...(await input), threadId: earlier.threadId }, earlier.id)
      } catch (error) {
        if (!(error instanceof ThreadMovedOnError)) throw error
      }
      return forked(earlier, input)
    },
    fork: (earlier, messages) => forked(earlier, inputOf(messages)),
    goOn: (history) => start({ retryOf: history }),
  }
}

async function readInput(ctx: Ctx, projectId: string, messages: readonly GivenMessage[]): Promise<Input> {
  const last = messages.findLast(({ role }) => role !== 'system')
  if (last?.role !== 'user')
    throw invalidAt(
      ['messages'],
      'must end with a message of the user, or with the outputs of calls that wait for this client',
    )
  assertOnlyLast(messages.flatMap((one) => (one === last ? [] : one.files)))
  const attachments = await attachmentsOf(ctx, projectId, last.files)
  return { messages: messages.flatMap(textsOf), ...(attachments.length > 0 ? { attachments } : {}) }
}

/** A message as text. Calls and outputs that a client tells of are history, and never calls of ours. */
function textsOf({ role, text, calls, callId }: GivenMessage): NonNullable<Input['messages']> {
  if (role === 'system') return []
  if (role === 'user') return [{ role: 'USER', content: text || '(no text)' }]
  const told = calls.map(({ name, arguments: args }) => `(called ${name} with ${args})`)
  const content =
    role === 'tool' ? `(output of ${callId}: ${text})` : [text, ...told].filter(Boolean).join('\n')
  return [{ role: 'ASSISTANT', content: content || '(no text)' }]
}

export interface AnswerSource extends StartedSegment {
  /** Starts what follows in the same answer when this run has ended: the answer to what was said while it waited. */
  next: (() => Promise<AnswerSource>) | null
}

/**
 * Finds what the request is about, in this order: a request that was told all of its messages before; outputs of calls for
 * this client, which are text beside the next message when the run has ended without them; a message after a known place; and
 * anything else, which is the history of a new run.
 */
export async function beginAnswer(
  ctx: Ctx,
  given: GivenRequest,
  known: Conversation,
  how: HowToStart,
): Promise<AnswerSource> {
  const starter = createStarter(ctx, given, known, how)
  const again = how.joins && known.whole ? await askedAgain(ctx, known, known.whole, how, starter) : null
  if (again) return again
  const tail = known.messages.slice(known.messages.findLastIndex(({ role }) => role === 'assistant') + 1)
  const added = tail.filter(({ role }) => role === 'user')
  const late: GivenMessage[] = []
  const answered = await answerCalls(ctx, known, tail).catch((error: unknown) => {
    // Else the conversation, which has these outputs for ever, could never go on.
    if (added.length === 0 || !isLate(error)) throw error
    late.push(...tail.filter(({ role }) => role === 'tool'))
    return null
  })
  if (answered) return { ...answered, next: nextAfter(starter, answered.generation, added) }
  const { base, messages } = known
  if (!base) return fromBeginning(await starter.anew(messages))
  if (base.isEdited) return fromBeginning(await starter.fork(base.run, messages.slice(base.length)))
  if (!isTerminal(base.run.storedStatus) && base.toldMs !== null) throw unanswered(messages, base)
  const said = [...late, ...known.newFor(base)]
  if (base.toldMs === null) return { ...placeIn(base), next: nextAfter(starter, base.run, said) }
  return fromBeginning(await starter.after(base.run, said))
}

/**
 * A request all of whose messages are known goes on with a run whose answer is owed, gets one again that was lost, or goes on where
 * a run failed. Null for one whose answer was told: it asks for another.
 */
async function askedAgain(
  ctx: Ctx,
  known: Conversation,
  place: KnownPlace,
  { isRetry }: HowToStart,
  starter: Starter,
): Promise<AnswerSource | null> {
  const { run, toldMs } = place
  const isOver = isTerminal(run.storedStatus)
  if (run.cancelRequestedAt && !isOver) return null
  if (toldMs === null) return { ...placeIn(place), next: nextAfter(starter, run, known.newFor(place)) }
  if (isOver && run.storedStatus !== 'COMPLETED') {
    const history = await afterLastCalls(ctx, run)
    return history && fromBeginning(await starter.goOn(history))
  }
  const wasAnswered = known.messages.at(-1)!.role !== 'assistant'
  const isLost = isRetry && wasAnswered && toldMs < ctx.limits.joinWindowMs
  return isLost ? { ...placeIn(place), next: null } : null
}

const nextAfter = (starter: Starter, run: Generation, said: readonly GivenMessage[]): AnswerSource['next'] =>
  said.length === 0 ? null : async () => fromBeginning(await starter.after(run, said))

const fromBeginning = (generation: Generation): AnswerSource => ({
  generation,
  segment: { generationId: generation.id, after: 0 },
  next: null,
})

const placeIn = ({ run, after }: KnownPlace): StartedSegment => ({
  generation: run,
  segment: { generationId: run.id, after },
})

/** The run that goes on because its calls were answered; null when the messages answer no call that this caller was given. */
async function answerCalls(
  ctx: Ctx,
  { agent }: Conversation,
  tail: readonly GivenMessage[],
): Promise<StartedSegment | null> {
  const given = tail.filter(({ callId }) => callId !== null && kindOfId(callId) === 'toolCall')
  const calls = await getToolCalls(
    ctx,
    given.map(({ callId }) => callId!),
  )
  const outputs = given.flatMap(({ callId, text }, i) =>
    calls[i]?.kind === 'client'
      ? [{ toolCallId: callId!, output: text, path: [...given[i]!.path, 'content'] }]
      : [],
  )
  const owner = calls.find((call) => call?.kind === 'client')?.generationId
  const [run] = owner ? await getGenerations(ctx, [owner]) : []
  const [root] = run?.rootId ? await getGenerations(ctx, [run.rootId]) : [run]
  if (!root || root.agentId !== agent.id || !hasAsked(ctx.principal, root)) return null
  return answerSegment(ctx, root, { outputs, verdicts: [], callsOnly: true }, ['messages'])
}

/** The run has ended without the outputs. */
const isLate = (error: unknown) => error instanceof AppError && error.code === 'GENERATION_TERMINAL'

function unanswered(messages: readonly GivenMessage[], { length }: KnownPlace): AppError {
  const names = messages[length - 1]!.calls.map(({ id, name }) => `${id} (${name})`)
  return invalidAt(
    ['messages', String(length)],
    `must be the outputs of the calls before it: ${names.join(', ')}`,
  )
}

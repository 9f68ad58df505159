/** Starts runs for messages of a conversation. An equal request finds the run that the first one started. */
import { invalidAt } from '../../../core/errors.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import {
  beginGeneration,
  ThreadMovedOnError,
  type Generation,
  type StartGenerationInput,
} from '../../../domain/generations/index.ts'
import { assertOnlyLast, attachmentsOf } from '../segments/given-files.ts'
import type { HistoryUpTo } from '../segments/last-calls.ts'
import type { Conversation } from './conversation.ts'
import type { GivenRequest } from './input.ts'
import type { GivenMessage } from './messages.ts'

export interface HowToStart {
  idempotencyKey: string | null
  /** An equal request finds the run of the first one. */
  joins: boolean
  /** The client says that it sends the request again by itself. */
  isRetry: boolean
}

export interface Starter {
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

export function createStarter(
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

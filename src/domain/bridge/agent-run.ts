/** Runs an agent for an MCP client: a message starts a generation, whose events become progress messages. */
import { z } from 'zod'
import { onAbort } from '../../core/time.ts'
import { check, text } from '../../core/check.ts'
import { allows, type Ctx } from '../access/index.ts'
import {
  approvalDecided,
  approvalRequested,
  generationStarted,
  toolCallSettled,
  toolCallStarted,
  type RecordedEvent,
} from '../events/index.ts'
import type { AttachmentsInput } from '../files/index.ts'
import { findAgent } from '../agents/index.ts'
import { hasOtherRuns, beginGeneration, watchGeneration, type Generation } from '../generations/index.ts'
import { openThread } from '../threads/index.ts'
import { withWireNames } from './call.ts'

export interface AgentRunInput {
  agentId: string
  /** The name of the tool that was called. */
  name: string
  arguments: unknown
  attachments: AttachmentsInput | null
  idempotencyKey: string | null
  /** The thread of the session; an explicit `conversation_id` overrides it. */
  threadId: string | null
}

const shape = z.strictObject({
  message: text(500_000, 1),
  conversation_id: text(60, 1).nullish(),
})

/**
 * Starts a generation of the agent with the message, in the thread of the conversation if there is one. A repeat with
 * the same idempotency key returns the first generation; without a key, so does the same request while a gate has stopped
 * that one, and after its end until the answer was fetched: also in another session, when both begin with it. Action
 * `generations:Start`.
 */
export async function startAgentRun(ctx: Ctx, input: AgentRunInput): Promise<Generation> {
  const { message, conversation_id: conversationId } = check(shape, input.arguments, ['arguments'])
  const key = check(text(200, 1).nullable(), input.idempotencyKey, ['arguments', 'idempotency_key'])
  const agent = await findAgent(ctx, input.agentId)
  if (!conversationId && input.threadId) await openThread(ctx, { agent, threadId: input.threadId })
  const threadId = conversationId ?? input.threadId
  const operation = `mcp:${agent.id}`
  const words = {
    name: input.name,
    arguments: { message, conversation_id: conversationId ?? null },
    ...(input.attachments?.length ? { attachments: input.attachments } : {}),
  }
  const { projectId } = agent
  const asked = { projectId, principal: ctx.principal, operation, request: words }
  // The first words of a session are the same request in every session: many clients open one for each call. Later words
  // mean what their conversation says.
  const goesOn = key === null && !conversationId && threadId && (await hasOtherRuns(ctx.db, asked, threadId))
  const request = goesOn ? { ...words, threadId } : words
  const started = beginGeneration(
    ctx,
    { agentId: agent.id, prompt: message, attachments: input.attachments, threadId, idempotencyKey: key },
    { operation, request, joins: key === null && 'BEHIND_GATE' },
  )
  return started.catch((error: unknown) => {
    throw withWireNames(error)
  })
}

/** A progress message of a run. */
export interface RunProgress {
  message: string
  /** The message is all text so far of the current model response; the next one replaces it. */
  isText: boolean
}

/** The progress message of an event; null for a kind that has none. */
function messageOf(event: RecordedEvent): string | null {
  switch (event.type) {
    case generationStarted.type:
      return 'The agent has started.'
    case toolCallStarted.type:
      return `Calling ${event.data.name}.`
    case toolCallSettled.type:
      return `${event.data.name}: ${event.data.status}.`
    case approvalRequested.type:
      return `Waiting for a person to approve ${event.data.name}.`
    case approvalDecided.type:
      return `${event.data.name}: ${event.data.verdict}.`
    default:
      return null
  }
}

/** The progress of a run until it ends or the signal aborts. Empty for a caller without `events:Subscribe`. */
export async function* watchAgentRun(
  ctx: Ctx,
  generationId: string,
  signal: AbortSignal,
): AsyncGenerator<RunProgress> {
  if (!allows(ctx.principal.policy, 'events:Subscribe', `generation/${generationId}`)) return
  const stream = await watchGeneration(ctx, { generationId })
  const stop = () => void stream.return?.()
  const forget = onAbort(signal, stop)
  let written = ''
  try {
    for await (const item of stream) {
      if (signal.aborted) return
      if ('delta' in item) written = item.delta.offset === 0 ? item.delta.text : written + item.delta.text
      const message = 'delta' in item ? written : messageOf(item.event)
      if (message) yield { message, isText: 'delta' in item }
    }
  } finally {
    forget()
    stop()
  }
}

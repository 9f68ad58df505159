/** Talking to the agent itself: a message starts a run, and its events tell how it goes. */
import { z } from 'zod'
import { onAbort } from '../../core/abort.ts'
import { check, text } from '../../core/check.ts'
import { allows, type Ctx } from '../access/index.ts'
import type { AttachmentsInput } from '../files/index.ts'
import { findAgent } from '../agents/index.ts'
import { inCallersWords } from './callers-words.ts'
import { openThread, startGeneration, watchGeneration, type Generation } from '../generations/index.ts'

export interface TalkInput {
  agentId: string
  /** The name under which the agent was called. */
  name: string
  arguments: unknown
  attachments: AttachmentsInput | null
  idempotencyKey: string | null
  /** The session's conversation; an explicit `conversation_id` wins. */
  threadId: string | null
}

const shape = z.strictObject({
  message: text(500_000, 1),
  conversation_id: text(60, 1).nullish(),
})

/**
 * Starts a run of the agent with the message. Action `generations:Start`. With a conversation it goes on there; with a
 * key a repeat answers the first run.
 */
export async function startTalk(ctx: Ctx, input: TalkInput): Promise<Generation> {
  const { message, conversation_id: named } = check(shape, input.arguments, ['arguments'])
  const key = check(text(200, 1).nullable(), input.idempotencyKey, ['arguments', 'idempotency_key'])
  const agent = await findAgent(ctx, input.agentId)
  if (!named && input.threadId) await openThread(ctx, { agent, threadId: input.threadId })
  const threadId = named ?? input.threadId
  const request = {
    name: input.name,
    arguments: { message, conversation_id: named ?? null },
    ...(input.attachments?.length ? { attachments: input.attachments } : {}),
  }
  const started = startGeneration(
    ctx,
    { agentId: agent.id, prompt: message, attachments: input.attachments, threadId, idempotencyKey: key },
    { operation: `mcp:${agent.id}`, request },
  )
  return started.catch((error: unknown) => {
    throw inCallersWords(error)
  })
}

/** What a caller who waits is told: a step that began, a call, or the text so far. */
export interface TalkEvent {
  message: string
  /** It is the text so far; a newer one says it all again. */
  isText: boolean
}

const told: Record<string, (data: Record<string, unknown>) => string> = {
  GENERATION_STARTED: () => 'The agent has begun.',
  TOOL_CALL_STARTED: (data) => `Calling ${String(data['name'])}.`,
  TOOL_CALL_SETTLED: (data) => `${String(data['name'])}: ${String(data['status'])}.`,
  APPROVAL_REQUESTED: (data) => `Waiting for a person to approve ${String(data['name'])}.`,
  APPROVAL_DECIDED: (data) => `${String(data['name'])}: ${String(data['verdict'])}.`,
}

/** Follows a run until it ends or the signal says so. A caller that may not follow events hears nothing. */
export async function* watchTalk(ctx: Ctx, id: string, signal: AbortSignal): AsyncGenerator<TalkEvent> {
  if (!allows(ctx.principal.policy, 'events:Subscribe', `generation/${id}`)) return
  const stream = await watchGeneration(ctx, { generationId: id })
  const stop = () => void stream.return?.()
  const forget = onAbort(signal, stop)
  let spoken = ''
  try {
    for await (const item of stream) {
      if (signal.aborted) return
      if ('delta' in item) spoken = item.delta.offset === 0 ? item.delta.text : spoken + item.delta.text
      const words = 'delta' in item ? spoken : told[item.event.type]?.(item.event.data)
      if (words) yield { message: words, isText: 'delta' in item }
    }
  } finally {
    forget()
    stop()
  }
}

/** Runs of a thread that a client names by an id of its own, for protocols whose clients send the whole conversation. */
import { AppError } from '../../../core/errors.ts'
import { hashJson } from '../../../core/json.ts'
import { recallRequest, type Ctx } from '../../../domain/access/index.ts'
import type { Agent } from '../../../domain/agents/index.ts'
import {
  isTerminal,
  listGenerations,
  startGeneration,
  type Generation,
  type StartGenerationInput,
} from '../../../domain/generations/index.ts'
import { namedThreadId } from '../../../domain/threads/index.ts'
import { assertOnlyLast, attachmentsOf, fingerprints, type GivenFile } from './given-files.ts'

/** The newest run of the thread; null when it has none. Action `generations:List`. */
export async function newestRun(ctx: Ctx, agent: Agent, externalId: string): Promise<Generation | null> {
  const [newest] = await newestRuns(ctx, agent, externalId, 1)
  return newest ?? null
}

/** At most so many runs of the thread, newest first. Action `generations:List`. */
export async function newestRuns(
  ctx: Ctx,
  agent: Agent,
  externalId: string,
  most: number,
): Promise<Generation[]> {
  const threadId = await namedThreadId(ctx, agent, externalId)
  const page = { limit: most, inverted: false }
  const found = await listGenerations(ctx, { projectId: agent.projectId, filter: { threadId }, page })
  return found.slice(0, most)
}

/** A message of the conversation as the client has it. */
export interface TurnMessage {
  id: string
  role: 'user' | 'assistant'
  text: string
  files: GivenFile[]
}

export interface TurnOfUser {
  /** The client's id of the thread. */
  externalId: string
  /** The conversation as the client has it; the last message is the user's. */
  messages: TurnMessage[]
  newest: Generation | null
  /** The run that is tried again with the same message. */
  retries?: string | null
  settings: Omit<StartGenerationInput, 'agentId'>
  /** Names the API in idempotency keys. */
  operation: string
}

/**
 * Starts the run of the last message. A repeat of that message finds its run. CONFLICT for another message while the
 * newest run goes on or waits. What came before is used when the thread is new: it has the rest.
 */
export async function startTurn(ctx: Ctx, agent: Agent, turn: TurnOfUser): Promise<Generation> {
  const { externalId, newest, settings, operation } = turn
  const last = turn.messages.at(-1)!
  const message = { threadId: externalId, messageId: last.id, retries: turn.retries ?? null }
  const key = hashJson({ agentId: agent.id, ...message })
  const { id: principalId } = ctx.principal
  const known = { projectId: agent.projectId, principalId, operation, key }
  if (newest && !isTerminal(newest.storedStatus) && (await recallRequest(ctx.db, known)) === null)
    throw new AppError('CONFLICT', 'The run before has not ended: answer its calls, or wait for its end.')
  if (!newest) assertOnlyLast(turn.messages.slice(0, -1).flatMap(({ files }) => files))
  const attachments = await attachmentsOf(ctx, agent.projectId, last.files)
  const messages = (newest ? [last] : turn.messages).map(({ role, text }) => ({
    role: role === 'user' ? ('USER' as const) : ('ASSISTANT' as const),
    content: text || '(no text)',
  }))
  return startGeneration(
    ctx,
    {
      agentId: agent.id,
      messages,
      ...(attachments.length > 0 ? { attachments } : {}),
      externalThreadId: externalId,
      idempotencyKey: key,
      ...settings,
    },
    {
      operation,
      request: {
        ...message,
        text: last.text,
        ...(attachments.length > 0 ? { files: fingerprints(last.files) } : {}),
      },
    },
  )
}

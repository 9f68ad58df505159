/**
 * Runs of a thread that a client names by an id of its own, for protocols whose clients send the whole conversation,
 * and where one goes on.
 */
import { AppError } from '../../../core/errors.ts'
import { hashJson, type JsonObject } from '../../../core/json.ts'
import { recallRequest, type Ctx } from '../../../domain/access/index.ts'
import type { Agent } from '../../../domain/agents/index.ts'
import {
  isTerminal,
  listGenerations,
  beginGeneration,
  ThreadMovedOnError,
  type Generation,
  type StartGenerationInput,
  showStepsOf,
} from '../../../domain/generations/index.ts'
import { namedThreadId } from '../../../domain/threads/index.ts'
import { assertOnlyLast, attachmentsOf, fingerprints, type GivenFile } from './given-files.ts'
import { callsOf } from '../../../domain/models/index.ts'

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
  return newestIn(ctx, agent, await namedThreadId(ctx, agent, externalId), most)
}

/** At most so many runs of the thread with this id of ours, newest first. Action `generations:List`. */
export async function newestIn(
  ctx: Ctx,
  agent: Agent,
  threadId: string,
  most: number,
): Promise<Generation[]> {
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
  settings: Omit<StartGenerationInput, 'agentId'>
  /** Names the API in idempotency keys. */
  operation: string
}

/**
 * Starts the run of the last message. A repeat of that message finds its run. CONFLICT for another message while the
 * newest run goes on or waits, also when another page has begun it at this moment. What came before is used when the thread is
 * new: it has the rest.
 */
export async function startTurn(ctx: Ctx, agent: Agent, turn: TurnOfUser): Promise<Generation> {
  const { externalId, newest, settings, operation } = turn
  const last = turn.messages.at(-1)!
  const key = keyOf(agent, externalId, last)
  if (newest) await assertOver(ctx, newest, { operation, key })
  const input = await inputOf(ctx, agent, newest ? [last] : turn.messages)
  const request = { threadId: externalId, message: fingerprintOf(last) }
  const start = (follows?: { follows: string }) =>
    beginGeneration(
      ctx,
      { agentId: agent.id, ...input, externalThreadId: externalId, idempotencyKey: key, ...settings },
      { operation, request, ...follows },
    )
  try {
    return await start(newest ? { follows: newest.id } : undefined)
  } catch (error) {
    if (!(error instanceof ThreadMovedOnError)) throw error
  }
  // Another page was faster. A run that this caller does not see is none.
  const now = await newestRun(ctx, agent, externalId)
  if (now) await assertOver(ctx, now, { operation, key })
  return start()
}

/** The idempotency key of a message of the user in the thread that its client names so. */
export function keyOf({ id: agentId }: Agent, externalId: string, { id: messageId }: TurnMessage): string {
  return hashJson({ agentId, threadId: externalId, messageId })
}

/** What counts of a message of the user when it is sent again. */
export function fingerprintOf({ id, text, files }: TurnMessage): JsonObject {
  return { id, text, ...(files.length > 0 ? { files: fingerprints(files) } : {}) }
}

/** CONFLICT for a run that goes on or waits, unless the request with the key started a run before. */
export async function assertOver(
  ctx: Ctx,
  { projectId, storedStatus }: Generation,
  { operation, key }: { operation: string; key: string | null },
): Promise<void> {
  if (isTerminal(storedStatus)) return
  const known = { projectId, principal: ctx.principal, operation }
  if (key === null || (await recallRequest(ctx.db, { ...known, key })) === null)
    throw new AppError(
      'CONFLICT',
      'The run before has not ended: answer its calls, stop it, or wait for its end.',
    )
}

/** The messages as the input of a run, without those of the assistant that have no text. INVALID for a file before the last one; its own are stored as files. */
export async function inputOf(
  ctx: Ctx,
  agent: Agent,
  messages: readonly TurnMessage[],
): Promise<Pick<StartGenerationInput, 'messages' | 'attachments'>> {
  assertOnlyLast(messages.slice(0, -1).flatMap(({ files }) => files))
  const attachments = await attachmentsOf(ctx, agent.projectId, messages.at(-1)!.files)
  return {
    messages: messages.flatMap(({ role, text }) =>
      text ? [{ role: role === 'user' ? 'USER' : 'ASSISTANT', content: text }] : [],
    ),
    ...(attachments.length > 0 ? { attachments } : {}),
  }
}

/** The history with which a run goes on. */
export interface HistoryUpTo {
  generationId: string
  step: number
}

/** What goes on after the last calls of a run, and repeats none of them. Null for a run that made none. */
export async function afterLastCalls(
  ctx: Ctx,
  { id, input, retryOf }: Generation,
): Promise<HistoryUpTo | null> {
  const steps = await showStepsOf(ctx.db, [id])
  const made = steps.filter(({ parts }) => callsOf(parts).length > 0).map(({ stepIndex }) => stepIndex)
  if (made.length > 0) return { generationId: id, step: Math.max(...made) }
  // It went on so itself.
  return input.length === 0 ? retryOf : null
}

/** What a posted chat begins: a run for a new message of the user, or the next part of a run whose pause it answers. */
import { invalidAt } from '../../../core/errors.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import type { Agent } from '../../../domain/agents/index.ts'
import { namedThreadId } from '../../../domain/threads/index.ts'
import { answerSegment, type StartedSegment } from '../segments/answers.ts'
import { runOf } from '../segments/segment-log.ts'
import { newestRun, startTurn } from '../segments/thread-runs.ts'
import { runOfMessage } from './chunks.ts'
import type { ChatRequest } from './input.ts'

/** A repeat of the same answers goes on where they led; see `startTurn` for a message of the user. */
export async function beginPart(ctx: Ctx, agent: Agent, given: ChatRequest): Promise<StartedSegment> {
  if (given.answers) return answerPause(ctx, agent, given)
  const newest = await newestRun(ctx, agent, given.chatId)
  if (given.regenerates && newest?.storedStatus === 'COMPLETED')
    throw invalidAt(
      ['trigger'],
      'is not served for a run that was completed: the thread keeps what was said. Send a new message.',
    )
  const generation = await startTurn(ctx, agent, {
    externalId: given.chatId,
    messages: given.messages,
    newest,
    retries: given.regenerates ? (newest?.id ?? null) : null,
    settings: given.settings,
    operation: 'chat:Send',
  })
  return { generation, segment: { generationId: generation.id, after: 0 } }
}

/** The pause is that of the run which our last message shows. */
async function answerPause(ctx: Ctx, agent: Agent, given: ChatRequest): Promise<StartedSegment> {
  const { id } = given.messages.at(-1)!
  const at = ['messages', String(given.messages.length - 1)]
  const generationId = runOfMessage(id)
  if (!generationId) throw invalidAt([...at, 'id'], 'is not the id of a message of a run')
  const generation = await runOf(ctx, { generationId, after: 0 }, id)
  if (generation.threadId !== (await namedThreadId(ctx, agent, given.chatId)))
    throw invalidAt(['id'], 'is another chat than the one of its last message')
  return answerSegment(ctx, generation, given.answers!, [...at, 'parts'])
}

/**
 * Results that a page has and did not send: CopilotKit sends those of a tool that failed, or that wants no further run,
 * only with the next message. The run that waits for them goes on first, and the message begins the next one.
 */
import { AppError } from '../../../core/errors.ts'
import { kindOfId } from '../../../core/ids.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import type { Agent } from '../../../domain/agents/index.ts'
import { isTerminal } from '../../../domain/generations/index.ts'
import { getToolCalls } from '../../../domain/tool-calls/index.ts'
import { answerSegment, type StartedSegment } from '../segments/answers.ts'
import { newestRun } from '../segments/thread-runs.ts'
import type { AgUiInput, GivenResult } from './input.ts'

/**
 * The newest run of the thread, if the page has messages before the user's that answer what it waits for; else null. A
 * call that the page has without a result is given up: after it was opened anew, CopilotKit does not run it any more.
 */
export async function answerOwed(ctx: Ctx, agent: Agent, given: AgUiInput): Promise<StartedSegment | null> {
  const { asks, seen, threadId } = given
  if (!asks || seen.calls.size === 0) return null
  const newest = await newestRun(ctx, agent, threadId)
  if (!newest || isTerminal(newest.storedStatus)) return null
  const isLost = (id: string) => kindOfId(id) === 'toolCall' && !seen.results.has(id)
  const results = [...given.earlierResults(), ...[...seen.calls].filter(isLost).map(lost)]
  const calls = await getToolCalls(
    ctx,
    results.map(({ toolCallId }) => toolCallId),
  )
  const outputs = results.filter((_result, i) => calls[i]?.status === 'AWAITING_CLIENT')
  return outputs.length > 0 ? answerSegment(ctx, newest, { outputs, verdicts: [] }, ['messages']) : null
}

const lost = (toolCallId: string): GivenResult => ({
  toolCallId,
  output: 'The page went on without a result of this call.',
  isError: true,
})

/** What the stream ends with when that run waits again, so that the message could not be taken. */
export const asksAgain = () =>
  new AppError('CONFLICT', 'The run before asks for more: answer it, then send the message again.')

/** A message begins a task, goes on in a context, or answers what a task asks for. The same message again finds the same task. */
import { AppError, invalidAt } from '../../../core/errors.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import { findAgentToStart } from '../../../domain/agents/index.ts'
import { isTerminal, beginGeneration, type Generation } from '../../../domain/generations/index.ts'
import { answerSegment } from '../segments/answers.ts'
import { attachmentsOf, fingerprints } from '../segments/given-files.ts'
import { inNamesOf, type InputNames } from '../segments/input-names.ts'
import { A2aError } from './errors.ts'
import type { GivenMessage } from './request.ts'
import { findTask } from './task.ts'

const partsOf = ({ path }: GivenMessage) => [...path, 'parts']
const contextOf = ({ path }: GivenMessage) => [...path, 'contextId']

/** Where a request has the inputs of the operations. */
const namesOf = (given: GivenMessage): InputNames => ({
  messages: partsOf(given),
  attachments: partsOf(given),
  outputs: partsOf(given),
  reason: partsOf(given),
  threadId: contextOf(given),
  idempotencyKey: [...given.path, 'messageId'],
})

/**
 * The run of the task that the message begins or answers. Action `generations:Start` on the agent, or those of the
 * answers. The message id is the idempotency key of a task that it begins; answers are compared with the first ones.
 */
export function acceptMessage(ctx: Ctx, agentNamed: string, given: GivenMessage): Promise<Generation> {
  return inNamesOf(namesOf(given), async () =>
    given.taskId
      ? answerTask(ctx, await findTask(ctx, agentNamed, given.taskId), given)
      : beginTask(ctx, agentNamed, given),
  )
}

async function beginTask(ctx: Ctx, agentNamed: string, given: GivenMessage): Promise<Generation> {
  const { messageId, contextId, text, files } = given
  const agent = await findAgentToStart(ctx, agentNamed)
  if (!text) throw invalidAt(partsOf(given), 'must have text or data')
  const attachments = await attachmentsOf(ctx, agent.projectId, files)
  try {
    return await beginGeneration(
      ctx,
      {
        agentId: agent.id,
        messages: [{ role: 'USER', content: text }],
        ...(attachments.length > 0 ? { attachments } : {}),
        ...(contextId ? { threadId: contextId } : {}),
        idempotencyKey: messageId,
      },
      // How the client wants to be answered may differ between a message and its repeat.
      {
        operation: 'a2a:SendMessage',
        request: { agentId: agent.id, text, fileIds: fingerprints(files), contextId },
      },
    )
  } catch (error) {
    const isContext = contextId && error instanceof AppError && error.code === 'NOT_FOUND'
    throw isContext ? invalidAt(contextOf(given), 'is no context of yours; leave it out to begin one') : error
  }
}

async function answerTask(ctx: Ctx, generation: Generation, given: GivenMessage): Promise<Generation> {
  const { contextId, answers, text, files } = given
  if (contextId && contextId !== generation.threadId)
    throw invalidAt(contextOf(given), 'is another context than that of the task')
  const isAnswer = answers.outputs.length + answers.verdicts.length > 0
  if (isAnswer) {
    if (text || files.length > 0)
      throw invalidAt(partsOf(given), 'must be answers only; say why in the reason of a verdict')
    return (await answerSegment(ctx, generation, answers, partsOf(given))).generation
  }
  throw new A2aError(
    'UNSUPPORTED_OPERATION',
    isTerminal(generation.storedStatus)
      ? 'The task has ended. Leave out its id, and go on in its context.'
      : 'A task takes only answers to what it asks for, as data parts: {toolCallId, output} or {approvalId, verdict}.',
  )
}

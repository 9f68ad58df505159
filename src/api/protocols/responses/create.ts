/** Begins a segment: starts a run, continues a thread, or answers what a run waits for. A repeat finds the same segment. */
import { AppError, invalidAt, notFound } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import { findAgentToStart } from '../../../domain/agents/index.ts'
import { getApprovals } from '../../../domain/approvals/index.ts'
import { getGenerations, beginGeneration, type Generation } from '../../../domain/generations/index.ts'
import { getToolCalls } from '../../../domain/tool-calls/index.ts'
import { answerSegment, type StartedSegment } from '../segments/answers.ts'
import { assertOnlyLast, attachmentsOf } from '../segments/given-files.ts'
import { runOf } from '../segments/segment-log.ts'
import { segmentOf } from '../segments/segments.ts'
import type { GivenInput, GivenRequest, OwnItem } from './input.ts'

/** `idempotencyKey`, or without one `joins`, makes repeats of a request that starts a run find that run. */
export async function beginSegment(
  ctx: Ctx,
  given: GivenRequest,
  body: JsonObject,
  { idempotencyKey, joins }: { idempotencyKey: string | null; joins: boolean },
): Promise<StartedSegment> {
  const agent = await findAgentToStart(ctx, given.model)
  const { input, previousId } = given
  const earlier = previousId ? await previousSegment(ctx, previousId) : await runNamedBy(ctx, input)
  if (earlier && earlier.generation.agentId !== agent.id)
    throw invalidAt(['model'], 'is another agent than the one of the earlier response')
  if (input.outputs.length + input.verdicts.length > 0) {
    if (!earlier) throw invalidAt(['input'], 'answers no call or question of a response')
    // Without an id these are the conversation so far.
    if (previousId && input.messages.slice(input.known).some(({ role }) => role === 'USER'))
      throw invalidAt(['input'], 'has a message before answers: send it when the response to them has ended')
    return answerSegment(ctx, earlier.generation, input, ['input'])
  }
  const messages = earlier ? afterLastAnswer(input) : input.messages
  if (messages.at(-1)?.role !== 'USER')
    throw invalidAt(
      ['input'],
      'must end with a message of the user, or with what the response before asked for',
    )
  const { generation } = earlier ?? { generation: null }
  if (generation && !generation.finishedAt)
    throw new AppError(
      'CONFLICT',
      'The earlier response has not ended: answer its calls, or wait for its end.',
    )
  if (!earlier) assertOnlyLast(input.earlierFiles)
  const attachments = await attachmentsOf(ctx, agent.projectId, input.files)
  const started = await beginGeneration(
    ctx,
    {
      agentId: agent.id,
      messages,
      ...given.settings,
      ...(attachments.length > 0 ? { attachments } : {}),
      ...(generation ? { threadId: generation.threadId } : {}),
      ...(idempotencyKey ? { idempotencyKey } : {}),
    },
    {
      operation: 'responses:Create',
      request: idempotencyKey ? body : { ...runOnly(body), model: agent.id },
      joins,
    },
  )
  return { generation: started, segment: { generationId: started.id, after: 0 } }
}

/** Without what only says how the client wants to be answered. */
function runOnly({ stream: _s, stream_options: _o, background: _b, ...asked }: JsonObject): JsonObject {
  return asked
}

async function previousSegment(ctx: Ctx, id: string): Promise<StartedSegment> {
  const segment = segmentOf('resp', id)
  if (!segment) throw notFound('response', id)
  return { segment, generation: await runOf(ctx, segment, id) }
}

/**
 * The run that the input goes on with: that of the newest item of ours in it. Null for none, and for one that does not exist for the
 * caller, whose text is the history of a new run. NOT_FOUND when the input answers it, or has only its id.
 */
async function runNamedBy(ctx: Ctx, input: GivenInput): Promise<{ generation: Generation } | null> {
  const { newest, reference, outputs, verdicts } = input
  if (!newest) return null
  const id = await runIdOf(ctx, newest)
  const [generation] = id ? await getGenerations(ctx, [id]) : []
  const [root] = generation?.rootId ? await getGenerations(ctx, [generation.rootId]) : [generation]
  if (root) return { generation: root }
  if (outputs.length + verdicts.length > 0) throw notFound(...nameOf(newest))
  if (reference) throw notFound('item', reference)
  return null
}

async function runIdOf(ctx: Ctx, item: OwnItem): Promise<string | null> {
  if ('generationId' in item) return item.generationId
  const [found] =
    'callId' in item ? await getToolCalls(ctx, [item.callId]) : await getApprovals(ctx, [item.approvalId])
  return found?.generationId ?? null
}

function nameOf(item: OwnItem): [kind: string, id: string] {
  if ('callId' in item) return ['call', item.callId]
  return 'approvalId' in item ? ['approval', item.approvalId] : ['generation', item.generationId]
}

/** The new messages of a client that sends the whole conversation: the thread has the rest. */
function afterLastAnswer({ messages, known }: GivenInput): GivenInput['messages'] {
  const from = Math.max(known, messages.findLastIndex(({ role }) => role === 'ASSISTANT') + 1)
  return messages.slice(from)
}

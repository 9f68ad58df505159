/** What an AG-UI run begins: a run for a new message, the next part of a run that it answers, or the rest of the newest one. */
import { invalidAt, notFound } from '../../../core/errors.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import type { Agent } from '../../../domain/agents/index.ts'
import { getApprovals } from '../../../domain/approvals/index.ts'
import { getGenerations, type Generation } from '../../../domain/generations/index.ts'
import { namedThreadId } from '../../../domain/threads/index.ts'
import { getToolCalls } from '../../../domain/tool-calls/index.ts'
import { answerSegment, type GivenAnswers, type StartedSegment } from '../segments/answers.ts'
import { inNamesOf } from '../segments/input-names.ts'
import { newestRun, startTurn } from '../segments/thread-runs.ts'
import { names, type AgUiInput, type InterruptAnswer } from './input.ts'

/** A repeat of the same input goes on where it led. `isPart`: what the input answers may be a part of what is open. */
export function beginPart(ctx: Ctx, agent: Agent, given: AgUiInput, isPart = false): Promise<StartedSegment> {
  return inNamesOf(names, () => begin(ctx, agent, given, isPart))
}

async function begin(ctx: Ctx, agent: Agent, given: AgUiInput, isPart: boolean): Promise<StartedSegment> {
  const answered = await answersOf(ctx, given)
  if (answered) {
    const { generation, answers, at } = answered
    if (generation.threadId !== (await namedThreadId(ctx, agent, given.threadId)))
      throw invalidAt(['threadId'], 'is another thread than that of the answered run')
    return answerSegment(ctx, generation, { ...answers, isPart }, at)
  }
  const newest = await newestRun(ctx, agent, given.threadId)
  if (!given.asks) {
    if (!newest) throw invalidAt(['messages'], 'must end with a message of the user: the thread has no run')
    return fromBeginning(newest)
  }
  const { threadId: externalId, messages, settings } = given
  return fromBeginning(
    await startTurn(ctx, agent, { externalId, messages, newest, settings, operation: 'ag-ui:Run' }),
  )
}

/** What the client has of it is left out when it is rendered. */
function fromBeginning(generation: Generation): StartedSegment {
  return { generation, segment: { generationId: generation.id, after: 0 } }
}

interface Answered {
  generation: Generation
  answers: GivenAnswers
  at: string[]
}

/** Null when nothing is answered: results at the end may be those of calls that ran here, or that somebody else has given. */
async function answersOf(ctx: Ctx, { results, answers }: AgUiInput): Promise<Answered | null> {
  const calls = await getToolCalls(
    ctx,
    results.map(({ toolCallId }) => toolCallId),
  )
  calls.forEach((call, i) => {
    if (!call) throw notFound('call', results[i]!.toolCallId)
  })
  const given = results.flatMap(({ isTold, ...output }, i) => {
    const { kind, status, generationId: owner } = calls[i]!
    const isOwn = kind === 'client' && (!isTold || status === 'AWAITING_CLIENT')
    return isOwn ? [{ output, owner }] : []
  })
  const outputs = given.map(({ output }) => output)
  const { verdicts, settled, generationId } = await verdictsOf(ctx, answers)
  const own = given[0]?.owner ?? generationId
  if (!own) return null
  const [run] = await getGenerations(ctx, [own])
  const [root] = run?.rootId ? await getGenerations(ctx, [run.rootId]) : [run]
  if (!root) throw notFound('generation', own)
  return {
    generation: root,
    answers: { outputs, verdicts, settled },
    at: outputs.length > 0 ? ['messages'] : ['resume'],
  }
}

/** A question that was given up is rejected while it is open, and passed over when somebody has settled it. */
async function verdictsOf(ctx: Ctx, given: readonly InterruptAnswer[]) {
  const approvals = await getApprovals(
    ctx,
    given.map(({ id }) => id),
  )
  const verdicts: GivenAnswers['verdicts'] = []
  const settled: string[] = []
  given.forEach((answer, i) => {
    const approval = approvals[i]
    if (!approval) throw notFound('approval', answer.id)
    const { id: approvalId } = approval
    if (!answer.cancelled) {
      const { approved: approve, reason, editedArgs, digest } = answer
      verdicts.push({ approvalId, digest, approve, reason, ...(editedArgs ? { arguments: editedArgs } : {}) })
    } else if (approval.status === 'PENDING')
      verdicts.push({ approvalId, approve: false, reason: 'The question was given up.' })
    else settled.push(approvalId)
  })
  return { verdicts, settled, generationId: approvals[0]?.generationId ?? null }
}

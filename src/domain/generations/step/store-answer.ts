/** Stores a response that was paid for, whatever the database says. */
import { query } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { isOutage, isRefused } from '../../../store/db/storage-error.ts'
import { afterOutage, readBack } from '../../../store/work/leases.ts'
import type { ModelAnswer, ModelPort } from '../../models/index.ts'
import type { StepPlan } from '../decide.ts'
import type { HeldGeneration } from '../transaction/claim.ts'
import type { Change } from '../transaction/commit.ts'
import { failure } from '../transaction/terminal.ts'
import { commitTurn, type Turn, type TurnOutcome } from '../transaction/turn.ts'
import type { AttemptTimes } from './request.ts'

/**
 * Commits the response with `commit`. While the database cannot be used, the same response is committed again, for the time
 * of a lease; after that it is lost, and the loop counts the try. A response that the database refuses fails the run, which
 * has its cost all the same: it would be refused again.
 */
export async function storeAnswer(
  turn: Turn,
  plan: StepPlan,
  port: ModelPort,
  { answer, times }: { answer: ModelAnswer; times: AttemptTimes },
  commit: () => Promise<TurnOutcome>,
): Promise<TurnOutcome> {
  const { held, services, signal } = turn
  const until = performance.now() + services.limits.leaseMs
  for (let failures = 0; ; failures++) {
    const { epoch } = held
    try {
      const outcome = await commit()
      held.asked = false
      return outcome
    } catch (error) {
      held.notStored = () => notStoredOf(turn, plan, port, answer, times)
      if (isRefused(error)) return refuse(turn, error)
      if (!isOutage(error) || signal.aborted || performance.now() > until) throw error
    }
    if (await readBack(turn.lease, epoch, () => isStored(turn, plan))) {
      held.asked = false
      delete held.notStored
      return 'goOn'
    }
    await afterOutage(failures, signal)
  }
}

async function isStored({ services, held }: Turn, { stepIndex }: StepPlan): Promise<boolean> {
  const rows = await query(
    services.leaseDb,
    sql`select 1 from steps where generation_id = ${held.id} and step_index = ${stepIndex}::int`,
  )
  return rows.length > 0
}

async function refuse(turn: Turn, error: unknown): Promise<'terminal'> {
  const { held, services } = turn
  const { set, attempt } = writeCost(held.notStored)
  const change = failure('NOT_STORED', refused)
  await commitTurn(turn, { ...change, set: [...change.set, ...set], ...attempt })
  services.log.error(
    { err: error, generationId: held.id },
    'a generation failed: the database refused to store the response of its model',
  )
  return 'terminal'
}

const refused =
  'The model answered, and the database refused to store the answer. It was not asked again. The log of the server has the reason.'

function notStoredOf(
  { generation }: Turn,
  { stepIndex }: StepPlan,
  { name }: ModelPort,
  { usage }: ModelAnswer,
  times: AttemptTimes,
): ReturnType<NonNullable<HeldGeneration['notStored']>> {
  return {
    stepIndex,
    attempt: generation.attempt + 1,
    model: name,
    usage,
    totalTokens: usage.inputTokens + usage.outputTokens,
    errorCode: 'NOT_STORED',
    errorMessage: 'The model answered, and the answer could not be stored.',
    httpStatus: null,
    startedAt: times.startedAt(),
  }
}

/** The part of a change that writes what a response has cost which was not stored; nothing where no such response is known. */
export function writeCost(notStored: HeldGeneration['notStored']): {
  set: SQL[]
  attempt: Pick<Change, 'attempt'>
} {
  if (!notStored) return { set: [], attempt: {} }
  const attempt = notStored()
  return { set: tokensOf(attempt.usage), attempt: { attempt } }
}

/** Adds the tokens of a response to those of the generation. */
export function tokensOf({ inputTokens, cachedInputTokens, outputTokens }: ModelAnswer['usage']): SQL[] {
  return [
    sql`input_tokens = input_tokens + ${inputTokens}::bigint`,
    sql`cached_input_tokens = cached_input_tokens + ${cachedInputTokens}::bigint`,
    sql`output_tokens = output_tokens + ${outputTokens}::bigint`,
  ]
}

/** Accepts outputs of client tools: partial and repeatable; the last one resumes the loop exactly once. */
import { z } from 'zod'
import { invalidAt } from '../../core/errors.ts'
import { atomically, type Database } from '../../store/db/database.ts'
import { StaleReadError, withProof } from '../basis/index.ts'
import { sql } from '../../store/db/sql.ts'
import { isOutage } from '../../store/db/storage-error.ts'
import { selectRows } from '../../store/db/rows.ts'
import { generations } from '../../store/db/tables/generations.ts'
import { ownEpoch } from '../../store/work/work.ts'
import { assertMay, operation, reachable, type Ctx } from '../access/index.ts'
import { boundIds } from '../agents/index.ts'
import { callsAsJson, callsOfJson, loadCallsOf } from '../tool-calls/index.ts'
import { Generation, generationOf } from './generation.ts'
import { ownersUnder } from './nesting/tree.ts'
import {
  judge,
  outputOutcome,
  submission,
  type GivenOutputs,
  type Judgement,
  type OutputOutcome,
} from './submit-judgement.ts'
import {
  resumesWith,
  writeLocked,
  writeUnchanged,
  type GenerationSnapshot,
  type WrittenOutputs,
} from './submit-write.ts'

/**
 * On the named generation. Each output is checked by itself: one with an unknown id, a late one, or one that differs from an
 * earlier output is refused alone; with `atomic` one refusal refuses all. Results, events and the loop's wake-up are written
 * together, in a statement that proves that nothing has changed since the calls were read or else under the generation's lock, so
 * of two concurrent submissions exactly one resumes it. GENERATION_TERMINAL, with nothing changed, after the end, unless all
 * outputs are identical repeats.
 */
export const submitToolOutputs = operation({
  name: 'submitToolOutputs',
  does:
    'Submits outputs of open client tool calls, all or some of them; an identical repeat changes nothing, and the last one ' +
    'resumes the generation.',
  permission: 'generations:SubmitToolOutputs',
  input: submission,
  payload: z
    .object({
      generation: Generation.describe('The generation after the mutation.'),
      outcomes: z.array(outputOutcome).describe('The outcome of each output, in the order of the input.'),
    })
    .describe('The outcome of each output, and the generation after the mutation.'),
  refuses: ['NOT_FOUND', 'GENERATION_TERMINAL'],
  isAction: true,
  async run(ctx, given) {
    const seen = await readWithCalls(ctx, given.generationId)
    const { id, projectId, settings, requestedBy: by } = seen.generation
    await assertMay(ctx, 'generations:SubmitToolOutputs', projectId, `generation/${id}`, { by })
    given.activeToolIds?.forEach((boundId, i) => {
      if (!boundIds(settings).includes(boundId))
        throw invalidAt(
          ['input', 'activeToolIds', String(i)],
          "is not one of the agent's toolIds or agentIds",
        )
    })
    const { generation, outcomes, written } = await withProof<
      SubmitSnapshot | null,
      Submitting | null,
      Applied
    >({
      remembered: seen,
      read: async () => null,
      judge: (known) => judgeSeen(ctx, known, given),
      write: (judged) => (judged ? writeSeen(ctx, judged) : submitUnderLock(ctx.db, id, given)),
    })
    const news = written.map(
      (one) => ({ kind: 'news', generationId: one.id, projectId, seq: one.seq }) as const,
    )
    const waits = written.some((one) => one.resumes && !one.held)
    if (news.length > 0) ctx.pubsub.publish(waits ? [...news, { kind: 'work', table: 'generations' }] : news)
    return { generation, outcomes }
  },
})

interface Applied {
  /** The named generation, as it is after the commit. */
  generation: Generation
  outcomes: OutputOutcome[]
  /** What was written in each generation that owns a call. */
  written: WrittenOutputs[]
}

interface SubmitSnapshot extends GenerationSnapshot {
  /** Time of the database, in milliseconds since 1970. */
  now: number
}

/** The generation with its calls, in one snapshot. NOT_FOUND when it does not exist for the caller. */
async function readWithCalls(ctx: Ctx, id: string): Promise<SubmitSnapshot> {
  const [row] = await selectRows<typeof generations, { now: number; calls: object[] }>(
    ctx.db,
    generations,
    sql`where id = ${id}`,
    sql`, (extract(epoch from now()) * 1000)::float8 as now, ${callsAsJson(id)} as calls`,
  )
  const found = reachable(ctx, row, 'generation', id)
  const { now, calls, epoch } = found
  return { generation: generationOf(found), calls: callsOfJson(calls), epoch, now }
}

/** A submission, judged by what was read. */
interface Submitting {
  seen: SubmitSnapshot
  judgement: Judgement
}

/** Null when the rows must be locked. StaleReadError when an output may be for a child run. */
async function judgeSeen(
  ctx: Ctx,
  seen: SubmitSnapshot | null,
  given: GivenOutputs,
): Promise<Submitting | null> {
  if (!seen) return null
  const judgement = await judge(ctx.db, seen.generation, seen.calls, given, seen.now, true)
  if (!judgement) throw new StaleReadError()
  return { seen, judgement }
}

/**
 * Writes outputs of the generation's own calls in one statement. What is only refused or repeated is answered from what was
 * read. A generation that goes on is run by this process when it has a free slot.
 */
async function writeSeen(ctx: Ctx, { seen, judgement }: Submitting): Promise<Applied> {
  const { generation, calls } = seen
  const { accepted, outcomes, hint } = judgement
  if (accepted.length === 0) return { generation, outcomes, written: [] }
  const resumes = resumesWith(generation, calls, accepted)
  const slot = resumes ? ctx.slots.take('generations', generation.projectId) : null
  const claim = { epoch: ownEpoch(seen.epoch), leaseMs: ctx.limits.leaseMs }
  try {
    const written = await writeUnchanged(ctx.db, seen, accepted, hint, slot && claim)
    if (written.held) slot!.run(written.held)
    else slot?.free()
    return { generation: after(generation, written), outcomes, written: [written] }
  } catch (error) {
    if (isOutage(error)) slot?.giveBack({ id: generation.id, epoch: claim.epoch })
    else slot?.free()
    throw error
  }
}

/** The same under the generation's lock, and under those of the descendants whose calls are named. */
async function submitUnderLock(db: Database, id: string, given: GivenOutputs): Promise<Applied> {
  const applied = await atomically(db, (tx) => apply(tx, id, null, given))
  if (applied) return applied
  const ids = given.outputs.map((one) => one.toolCallId)
  const owners = new Set((await ownersUnder(db, id, ids)).values())
  return (await atomically(db, (tx) => apply(tx, id, [...owners], given)))!
}

/**
 * Null, with nothing written, when `owners` were not looked up and an output belongs to none of the generation's own
 * calls.
 */
async function apply(
  tx: Database,
  id: string,
  owners: readonly string[] | null,
  given: GivenOutputs,
): Promise<Applied | null> {
  const ids = [...new Set([id, ...(owners ?? [])])]
  const rows = await selectRows<typeof generations, { now: number }>(
    tx,
    generations,
    // From the bottom of the chain up, as in every writer.
    sql`where id in ${ids} order by depth desc, id for update`,
    sql`, (extract(epoch from now()) * 1000)::float8 as now`,
  )
  const all = rows.map(generationOf)
  const named = all.find((one) => one.id === id)!
  const calls = await loadCallsOf(tx, ids)
  const judgement = await judge(tx, named, calls, given, rows[0]!.now, owners === null)
  if (!judgement) return null
  const { accepted, outcomes, hint } = judgement
  const written: WrittenOutputs[] = []
  for (const generation of all) {
    const own = accepted.filter((one) => one.call.generationId === generation.id)
    if (own.length > 0)
      written.push(await writeLocked(tx, generation, calls, own, generation.id === id ? hint : null))
  }
  const mine = written.find((one) => one.id === id)
  return { generation: mine ? after(named, mine) : named, outcomes, written }
}

/** The generation after its calls were settled. One that goes on is QUEUED, also when a worker has it already. */
function after(generation: Generation, { resumes, seq }: WrittenOutputs): Generation {
  return { ...generation, ...(resumes ? { storedStatus: 'QUEUED' } : {}), lastSeq: seq }
}

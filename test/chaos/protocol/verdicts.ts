/** Verdicts in the protocol model: by one person, or by two at the same instant, each with what was read before. */
import { holdRow } from '../../support/held-row.ts'
import { note, type Model, type Reading } from './model.ts'
import type { Answer, Person, World } from './world.ts'

export interface Verdict {
  by: Person
  what: 'APPROVE' | 'EDIT_SMALL' | 'EDIT_LARGE' | 'REJECT'
  /** Whether the person sends the digest that it read. */
  saysDigest: boolean
}

interface Question {
  id: string
  digest: string
  n: string
  callId: string
  generationId: string | null
}

async function findQuestion(model: Model, world: World, pick: number, order = ''): Promise<Question | null> {
  const open =
    await world.rows<Question>(`select id, digest, tool_call_id as "callId", generation_id as "generationId",
      arguments->>'n' as n from approvals where created_at >= '${model.since}' and status = 'PENDING' order by ${order} created_at`)
  return open[pick % Math.max(1, open.length)] ?? null
}

let edits = 0

/** `exact`: no edit can come between the reading and the request. */
function prepare(model: Model, question: Question, { by, what, saysDigest }: Verdict, exact: boolean) {
  const amount =
    what === 'EDIT_LARGE' ? 1_000_000 + ++edits : what === 'EDIT_SMALL' ? 10 + (++edits % 900) : null
  const verdict = what === 'REJECT' ? 'REJECT' : 'APPROVE'
  const reading: Reading = { verdict, amount, digest: saysDigest || exact ? question.digest : null }
  note(model.read, `${question.id}/${by}`, reading)
  const input = {
    approvalId: question.id,
    verdict,
    ...(saysDigest ? { expectedDigest: question.digest } : {}),
    ...(amount === null ? {} : { arguments: { n: question.n, amount } }),
  }
  const told = (answer: Answer) => {
    model.openVerdicts--
    if (['APPROVED', 'REJECTED'].includes(answer['approval']?.status))
      model.acknowledged.set(question.id, verdict)
  }
  return { input, told, by }
}

/** Maps a promise to a value whether it resolves or rejects. */
const both = <T>(value: T) => [() => value, () => value] as const

const fields = 'approval { status }'

export async function decide(
  model: Model,
  world: World,
  at: number,
  pick: number,
  verdict: Verdict,
): Promise<void> {
  const question = await findQuestion(model, world, pick)
  if (!question) return
  // An earlier request may still write its edit before this one is read.
  const exact = model.cut === null && model.openVerdicts === 0
  const { input, told, by } = prepare(model, question, verdict, exact)
  model.openVerdicts++
  await world.request(world.reachable(at), by, 'decideApproval', input, fields, told)
}

/**
 * Two verdicts that are both read before either is written. On PostgreSQL the owner's row is locked until both wait
 * for it, in this order.
 */
export async function decideTogether(
  model: Model,
  world: World,
  at: number,
  pick: number,
  verdicts: [Verdict, Verdict],
): Promise<void> {
  // Approvals with a quorum of two stay open after the first.
  const question = await findQuestion(model, world, pick % 2, `runtime_name = 'pay' desc,`)
  if (!question) return
  const { generationId, callId } = question
  const owner: [string, string] = generationId ? ['generations', generationId] : ['tool_calls', callId]
  // Without the locked row the second may be read after the first is written.
  const holds = world.databaseUrl !== null && model.cut === null && model.openVerdicts === 0
  const held = holds ? await holdRow(world.databaseUrl!, ...owner) : null
  const asked: Promise<Answer | null>[] = []
  let before = 0
  for (const [i, verdict] of verdicts.entries()) {
    const { input, told, by } = prepare(model, question, verdict, holds)
    model.openVerdicts++
    const answer = world.request(world.reachable(at + i), by, 'decideApproval', input, fields, told)
    asked.push(answer)
    if (!held) continue
    const waits = held.waiting(before + 1, 'select 1 from%for update').then(...both('waits' as const))
    // A request that is refused at once does not wait.
    if ((await Promise.race([waits, answer])) === 'waits') before++
  }
  await held?.release()
  await Promise.all(asked)
}

/**
 * Answers what a segment of a run ended with: client tool calls and approvals. A repeat finds the same next segment.
 */
import { AppError, invalidAt, notFound, type ErrorCode } from '../../../core/errors.ts'
import { hashJson, type Json, type JsonObject } from '../../../core/json.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import { giveVerdict, getApprovals, type Approval } from '../../../domain/approvals/index.ts'
import {
  getGenerations,
  isRefusedWithOthers,
  submitToolOutputs,
  type Generation,
} from '../../../domain/generations/index.ts'
import { getToolCalls, type ToolCall } from '../../../domain/tool-calls/index.ts'
import { maskAt } from '../../../domain/tools/index.ts'
import { endsSegment, readSegment, type RunUpdate } from './segment-log.ts'
import type { RunSegment } from './segments.ts'

export interface StartedSegment {
  segment: RunSegment
  generation: Generation
}

export interface GivenVerdict {
  approvalId: string
  /** Of the arguments that its author was shown; null or absent: those first asked. */
  digest?: string | null | undefined
  approve: boolean
  reason: string | null
  /** Edits the arguments; with `approve` only. */
  arguments?: JsonObject | undefined
}

export interface GivenAnswers {
  /** The path in the request; absent: that of all answers. */
  outputs: { toolCallId: string; output: Json; isError?: boolean | undefined; path?: string[] }[]
  verdicts: GivenVerdict[]
  /** Approvals that others have settled: they only identify the segment. */
  settled?: string[]
  /** Leaves pending approvals to people: only calls are answered here. */
  callsOnly?: boolean
  /** Whether the rest may stay open. Then the segment is read again from its beginning, with what is left of it. */
  isPart?: boolean
}

/**
 * Answers everything that a segment of this root run still wants from this caller; the next segment begins there. INVALID at
 * `at` for only a part of it, since the rest would stay open (see `isPart`), and for what no segment asked for. Answers of
 * earlier segments may be repeated, as in a whole conversation. The same answers again change nothing and find the same
 * segment; different ones are refused with the error of the operation.
 */
export async function answerSegment(
  ctx: Ctx,
  generation: Generation,
  given: GivenAnswers,
  at: string[],
): Promise<StartedSegment> {
  const { from, after, calls, approvals, earlier } = await askedBy(ctx, generation, given, at)
  const open = [
    ...calls.flatMap(({ id, status }) =>
      status === 'AWAITING_CLIENT' && !given.outputs.some(({ toolCallId }) => toolCallId === id) ? [id] : [],
    ),
    ...approvals.flatMap(({ id, status }) =>
      !given.callsOnly && status === 'PENDING' && !given.verdicts.some(({ approvalId }) => approvalId === id)
        ? [id]
        : [],
    ),
  ]
  if (open.length > 0 && !given.isPart) throw invalidAt(at, `has no answer for ${open.join(', ')}`)
  const asked = new Set([...[...calls, ...approvals].map(({ id }) => id), ...earlier])
  const unasked = given.verdicts.find(({ approvalId }) => !asked.has(approvalId))
  if (unasked) throw notFound('approval', unasked.approvalId)
  // Outputs are all or none; a verdict that was given before them stays.
  const stray = given.outputs.find(({ toolCallId }) => !asked.has(toolCallId))
  if (stray && given.verdicts.length > 0) throw notFound('call', stray.toolCallId)
  for (const verdict of given.verdicts) await decide(ctx, verdict, earlier.has(verdict.approvalId))
  if (given.outputs.length > 0) await submit(ctx, generation.id, given.outputs, at)
  const [now] = await getGenerations(ctx, [generation.id])
  const place = open.length > 0 ? from : after
  return { generation: now ?? generation, segment: { generationId: generation.id, after: place } }
}

/** Submits all or none. A refusal has the path in the request. */
async function submit(
  ctx: Ctx,
  generationId: string,
  given: GivenAnswers['outputs'],
  at: string[],
): Promise<void> {
  const outputs = given.map(({ path: _path, ...output }) => output)
  const places = given.map(({ path }) => path ?? at)
  try {
    const { outcomes } = await submitToolOutputs(ctx, { generationId, outputs, atomic: true })
    const refused = outcomes.findIndex((one) => one.error && !isRefusedWithOthers(one))
    const error = outcomes[refused]?.error
    if (error) throw refusalAt(places[refused]!, error)
  } catch (error) {
    const isOver = error instanceof AppError && error.code === 'GENERATION_TERMINAL'
    throw isOver ? refusalAt(places.length === 1 ? places[0]! : at, error) : error
  }
}

function refusalAt(path: string[], { code, message }: { code: ErrorCode; message: string }): AppError {
  return code === 'INVALID'
    ? invalidAt(path, message)
    : new AppError(code, message, { issues: [{ path, message }] })
}

/**
 * The first verdict holds. The same one again, whichever way it was given, is accepted; so is one of an earlier segment whose
 * approval was voided since.
 */
async function decide(ctx: Ctx, given: GivenVerdict, isEarlier: boolean): Promise<void> {
  const { approvalId, approve, reason, arguments: edited, digest } = given
  const verdict = approve ? 'APPROVE' : 'REJECT'
  try {
    const edits = edited ? { arguments: edited } : {}
    await giveVerdict(ctx, { approvalId, verdict, reason, expectedDigest: digest, ...edits })
  } catch (error) {
    const isLate = error instanceof AppError && lateCodes.includes(error.code)
    const [known] = isLate ? await getApprovals(ctx, [approvalId]) : []
    const isVoid = known?.status === 'VOIDED' || known?.status === 'EXPIRED'
    if (!known || !((isVoid && isEarlier) || (await isDecidedSo(ctx, known, given)))) throw error
  }
}

const lateCodes: readonly ErrorCode[] = ['APPROVAL_ALREADY_DECIDED', 'APPROVAL_EXPIRED', 'CONFLICT']

/** Whether the verdict was given before: it settled the approval, or it is a vote of this caller that waits for others. */
async function isDecidedSo(ctx: Ctx, known: Approval, given: GivenVerdict): Promise<boolean> {
  const { approve, arguments: edited } = given
  const hasVoted = known.votes.some(({ by, verdict }) => by === ctx.principal.id && verdict === 'APPROVE')
  const isSame =
    known.status === (approve ? 'APPROVED' : 'REJECTED') ||
    (known.status === 'PENDING' && approve && hasVoted)
  if (!isSame || !edited) return isSame
  const [call] = await getToolCalls(ctx, [known.toolCallId])
  const own = call?.arguments ?? {}
  return [own, maskAt(own, call?.masked ?? null)].some((one) => hashJson(one) === hashJson(edited))
}

interface AskedSegment {
  /** The number of the last event before it. */
  from: number
  /** The number of its last event. */
  after: number
  calls: ToolCall[]
  approvals: Approval[]
  /** Calls and questions of the segments before it. */
  earlier: Set<string>
}

/**
 * What the newest segment asked for that any of these answers belongs to: clients that send the whole conversation repeat the
 * answers of the segments before it.
 */
async function askedBy(
  ctx: Ctx,
  generation: Generation,
  given: GivenAnswers,
  at: string[],
): Promise<AskedSegment> {
  const ids = new Set([
    ...given.outputs.map(({ toolCallId }) => toolCallId),
    ...given.verdicts.map(({ approvalId }) => approvalId),
    ...(given.settled ?? []),
  ])
  const earlier = new Set<string>()
  let found: AskedSegment | null = null
  for (let after = 0; ;) {
    const segment = await readQuestions(ctx, generation, after)
    if (!segment) break
    const from = after
    after = segment.after
    const own = [...segment.calls, ...segment.approvals].map(({ id }) => id)
    if (own.some((id) => ids.has(id))) found = { ...segment, from, earlier: new Set(earlier) }
    for (const id of own) earlier.add(id)
  }
  if (!found) throw invalidAt(at, 'answers nothing that this run asked for')
  return found
}

/** The questions with which the segment ended that begins there; null when it has not ended, or ended with the run. */
async function readQuestions(
  ctx: Ctx,
  generation: Generation,
  after: number,
): Promise<Omit<AskedSegment, 'from' | 'earlier'> | null> {
  const calls: ToolCall[] = []
  const approvals: Approval[] = []
  let last: RunUpdate | null = null
  const { signal } = new AbortController()
  const segment = { generationId: generation.id, after }
  for await (const one of await readSegment(ctx, generation, segment, false, signal)) {
    if (one.type === 'clientCalls') calls.push(...one.calls)
    if (one.type === 'approvals') approvals.push(...one.approvals)
    last = one
  }
  return last && endsSegment(last) && last.type !== 'end' ? { after: last.seq, calls, approvals } : null
}

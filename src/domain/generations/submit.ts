/** Accepts outputs of client tools: partial and repeatable; the last one resumes the loop exactly once. */
import { sql } from 'drizzle-orm'
import { z } from 'zod'
import { check } from '../../core/check.ts'
import type { ToolResult } from '../../core/content.ts'
import { AppError, invalidAt, type ErrorCode } from '../../core/errors.ts'
import { hashJson, isJsonObject, jsonTooBig, type Json } from '../../core/json.ts'
import { atomically, query, type Database, jsonb } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { generations } from '../../store/db/tables/generations.ts'
import { assertMay, type Ctx } from '../access/index.ts'
import { boundIds } from '../agents/index.ts'
import { insertGenerationEvents } from '../events/index.ts'
import { checkOutput, codeOf, loadVersion } from '../tools/index.ts'
import {
  callSettled,
  inGeneration,
  settleCalls,
  isOpen,
  loadCallsOf,
  type ToolCall,
} from '../tool-calls/index.ts'
import { generationOf, isTerminal, type Generation, type NextStep } from './generation.ts'
import { findGeneration } from './read.ts'
import { ownersUnder } from './nesting/tree.ts'

const outputLimits = { maxBytes: 1024 * 1024, maxDepth: 100 }

const shape = z.object({
  generationId: z.string(),
  outputs: z
    .array(
      z.object({
        toolCallId: z.string().max(60),
        output: z.unknown().optional(),
        isError: z.boolean().nullish(),
      }),
    )
    .min(1, 'must not be empty')
    .max(100),
  atomic: z.boolean().nullish(),
  toolChoice: z
    .object({ mode: z.enum(['AUTO', 'NONE', 'REQUIRED']).nullish(), tool: z.string().max(64).nullish() })
    .nullish(),
  activeToolIds: z.array(z.string().max(60)).max(128).nullish(),
})

export type SubmitToolOutputsInput = z.input<typeof shape>

/** The result for one output. `UNCHANGED`: the same output was submitted before. */
export interface OutputOutcome {
  toolCallId: string
  status: 'ACCEPTED' | 'UNCHANGED' | 'REFUSED'
  error: { code: ErrorCode; message: string } | null
}

export interface Submission {
  generation: Generation
  outcomes: OutputOutcome[]
}

/**
 * Submits outputs for open client calls of a generation or its descendants. Action `generations:SubmitToolOutputs` on
 * the named generation. Each output is checked by itself: one with an unknown id, a late one, or one that differs
 * from an earlier output is refused alone; with `atomic` one refusal refuses all. Results, events and the loop's
 * wake-up are written in one transaction under the generation's lock, so of two concurrent submissions exactly one
 * resumes it. Submitting to an ended generation changes nothing: GENERATION_TERMINAL, unless all outputs are
 * identical repeats.
 */
export async function submitToolOutputs(ctx: Ctx, input: SubmitToolOutputsInput): Promise<Submission> {
  const given = check(shape, input)
  const { id, projectId, settings, requestedBy: by } = await findGeneration(ctx, given.generationId)
  await assertMay(ctx, 'generations:SubmitToolOutputs', projectId, `generation/${id}`, { by })
  given.activeToolIds?.forEach((boundId, i) => {
    if (!boundIds(settings).includes(boundId))
      throw invalidAt(['input', 'activeToolIds', String(i)], "is not one of the agent's toolIds or agentIds")
  })
  const done =
    (await atomically(ctx.db, (tx) => apply(tx, id, null, given))) ?? (await submitUnder(ctx.db, id, given))
  const news = done.written.map(
    (one) => ({ kind: 'news', generationId: one.id, projectId, seq: one.seq }) as const,
  )
  const resumes = done.written.some((one) => one.resumes)
  if (news.length > 0) ctx.pubsub.publish(resumes ? [...news, { kind: 'work', table: 'generations' }] : news)
  return { generation: done.generation, outcomes: done.outcomes }
}

interface Applied {
  /** The named generation, as it is after the commit. */
  generation: Generation
  outcomes: OutputOutcome[]
  /** What was written in each generation that owns a call. */
  written: { id: string; seq: number; resumes: boolean }[]
}

/** The same for outputs of which some belong to no call of the generation itself, but perhaps to a descendant's. */
async function submitUnder(db: Database, id: string, given: z.output<typeof shape>): Promise<Applied> {
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
  given: z.output<typeof shape>,
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
  const judged = await judgeAll(tx, calls, given, rows[0]!.now)
  if (owners === null && judged.some((one) => one.call === null)) return null
  if (isTerminal(named.storedStatus) && judged.some((one) => one.outcome.status !== 'UNCHANGED'))
    throw new AppError(
      'GENERATION_TERMINAL',
      `This generation has ended (${named.storedStatus}); it takes no more outputs.`,
    )
  const refused = given.atomic === true && judged.some((one) => one.outcome.status === 'REFUSED')
  const accepted = refused ? [] : (judged.filter((one) => one.outcome.status === 'ACCEPTED') as Accepted[])
  const outcomes = judged.map((one) => (refused ? refuseWithOthers(one.outcome) : one.outcome))
  const hint = nextStepOf(given)
  if (hint && accepted.length > 0 && !accepted.some((one) => one.call.generationId === id))
    throw invalidAt(
      ['input', given.toolChoice ? 'toolChoice' : 'activeToolIds'],
      'is for the next step of the generation that is named, and none of these outputs is its own',
    )
  const written: Applied['written'] = []
  for (const generation of all) {
    const own = accepted.filter((one) => one.call.generationId === generation.id)
    if (own.length > 0)
      written.push(await writeTo(tx, generation, calls, own, generation.id === id ? hint : null))
  }
  const mine = written.find((one) => one.id === id)
  const woken = mine?.resumes ? ({ storedStatus: 'QUEUED' } as const) : {}
  return { generation: { ...named, ...woken, lastSeq: mine?.seq ?? named.lastSeq }, outcomes, written }
}

async function writeTo(
  tx: Database,
  { id, storedStatus }: Generation,
  calls: ToolCall[],
  accepted: Accepted[],
  hint: NextStep | null,
): Promise<Applied['written'][number]> {
  const settled = new Set(accepted.map((one) => one.call.id))
  const stillOpen = calls.some((call) => call.generationId === id && isOpen(call) && !settled.has(call.id))
  const resumes = storedStatus === 'WAITING' && !stillOpen
  return { id, seq: await settleAccepted(tx, id, accepted, resumes, hint), resumes }
}

interface Judged {
  outcome: OutputOutcome
  call: ToolCall | null
  result: ToolResult | null
  hash: string
}
type Accepted = Judged & { call: ToolCall; result: ToolResult }

async function judgeAll(
  tx: Database,
  calls: ToolCall[],
  given: z.output<typeof shape>,
  now: number,
): Promise<Judged[]> {
  const judged: Judged[] = []
  for (const { toolCallId, output, isError } of given.outputs) {
    const call = calls.find((c) => c.id === toolCallId && c.kind === 'client') ?? null
    const tooBig = jsonTooBig(output ?? null, outputLimits)
    const hash = tooBig ? '' : hashJson({ output: output ?? null, isError: isError ?? false })
    const twin = judged.find((one) => one.outcome.toolCallId === toolCallId)
    const refuse = (code: ErrorCode, message: string) =>
      judged.push({
        outcome: { toolCallId, status: 'REFUSED', error: { code, message } },
        call,
        result: null,
        hash,
      })
    const known = twin?.hash ?? call?.outputHash ?? null
    if (!call)
      refuse(
        'NOT_FOUND',
        'Neither this generation nor one of its child runs has a client tool call with this id.',
      )
    else if (tooBig) refuse('INVALID', `output ${tooBig}`)
    else if (known === hash)
      judged.push({ outcome: { toolCallId, status: 'UNCHANGED', error: null }, call, result: null, hash })
    else if (known !== null)
      refuse('CONFLICT', 'Another output was submitted for this call before; the first one holds.')
    else if (isOpen(call) && call.status !== 'AWAITING_CLIENT')
      refuse('CONFLICT', 'This call waits for its approval; nobody may run it yet.')
    else if (!isOpen(call)) refuse('CONFLICT', `This call is settled already (${call.status}).`)
    else if (call.deadlineAt !== null && call.deadlineAt.getTime() <= now)
      refuse('EXPIRED', 'The time for the output of this call is over.')
    else {
      const result = await resultOf(tx, call, (output ?? null) as Json, isError ?? false)
      const broken = codeOf(result) === 'output_schema_violation' && !isError
      if (broken)
        refuse('INVALID', (result.structuredContent as { error: { message: string } }).error.message)
      else judged.push({ outcome: { toolCallId, status: 'ACCEPTED', error: null }, call, result, hash })
    }
  }
  return judged
}

async function resultOf(tx: Database, call: ToolCall, output: Json, isError: boolean): Promise<ToolResult> {
  const text = typeof output === 'string' ? output : JSON.stringify(output)
  const result: ToolResult = {
    content: [{ type: 'text', text }],
    ...(typeof output === 'string' ? {} : { structuredContent: output }),
    isError,
  }
  return checkOutput(await loadVersion(tx, call.toolId!, call.toolVersion!), result)
}

function refuseWithOthers(outcome: OutputOutcome): OutputOutcome {
  if (outcome.status !== 'ACCEPTED') return outcome
  const error = {
    code: 'CONFLICT' as const,
    message: 'Refused together with another output of this atomic submission.',
  }
  return { ...outcome, status: 'REFUSED', error }
}

function nextStepOf(given: z.output<typeof shape>): NextStep | null {
  const choice = given.toolChoice
  const next: NextStep = {
    ...(choice?.tool
      ? { toolChoice: { tool: choice.tool } }
      : choice?.mode
        ? { toolChoice: { mode: choice.mode } }
        : {}),
    ...(given.activeToolIds ? { activeToolIds: given.activeToolIds } : {}),
  }
  return isJsonObject(next) && Object.keys(next).length > 0 ? next : null
}

/** Settles the calls with their events, and wakes the row when no call is open any more and no worker holds it. */
async function settleAccepted(
  tx: Database,
  id: string,
  accepted: Accepted[],
  resumes: boolean,
  nextStep: NextStep | null,
): Promise<number> {
  const outcomes = accepted.map(({ call, result, hash }) => ({
    id: call.id,
    status: result.isError ? ('ERRORED' as const) : ('SUCCEEDED' as const),
    result,
    outputHash: hash,
  }))
  const events = accepted.map(({ call }, i) => callSettled(call, outcomes[i]!.status))
  const wake = resumes ? sql`, status = 'QUEUED', wake_at = now()` : sql``
  const hint = nextStep ? sql`, next_step = ${jsonb(nextStep)}` : sql``
  const rows = await query<{ seq: number }>(
    tx,
    sql`with g as (update generations set last_seq = last_seq + ${events.length}::int ${wake} ${hint}
        where id = ${id} returning id, project_id, last_seq),
      e as (${insertGenerationEvents(events)}),
      u as (${settleCalls('submit', outcomes, inGeneration)})
      select last_seq as seq from g`,
  )
  return rows[0]!.seq
}

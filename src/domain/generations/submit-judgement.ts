/** Judges submitted outputs one by one: which settle their calls, which repeat, which are refused. */
import { toolChoice } from '../agents/index.ts'
import { choice, entity, ids, idShape, json, optional, openPart, part, scalar } from '../../core/shapes.ts'
import { z } from 'zod'
import type { ToolResult } from '../../core/content.ts'
import { AppError, invalidAt, type ErrorCode } from '../../core/errors.ts'
import { hashJson, isJsonObject, type Json, jsonTooBig, writeJson } from '../../core/json.ts'
import type { Database } from '../../store/db/database.ts'
import { loadVersion, resultFault } from '../tools/index.ts'
import { isOpen, type ToolCall } from '../tool-calls/index.ts'
import { isTerminal, type Generation, type NextStep } from './generation.ts'

const outputLimits = { maxBytes: 1024 * 1024, maxDepth: 100 }

/** The input of a submission. */
export const submission = z
  .object({
    generationId: idShape(
      'The id of the generation; it begins with gen_. The root of a chain accepts outputs for all its child runs.',
    ),
    outputs: z
      .array(
        openPart('ToolOutputInput', 'The output of one client tool call.', {
          toolCallId: scalar('ID', z.string().max(60)).describe(
            'The id of the tool call; it begins with call_.',
          ),
          output: json().nullish().describe('The output: a text or any JSON value, at most 1 MiB.'),
          isError: optional(
            z.boolean().describe('Whether the client tool failed; output then says why.'),
            'false',
          ),
        }),
      )
      .min(1, 'must not be empty')
      .max(1000)
      .describe('The outputs, 1 to 100, each for another tool call.'),
    atomic: optional(z.boolean().describe('Whether one refused output refuses all of them.'), 'false'),
    toolChoice: toolChoice
      .nullish()
      .describe('The tool choice for the next step of this generation only, not of its child runs.'),
    activeToolIds: ids(z.string().max(60))
      .max(128)
      .nullish()
      .describe(
        'The ids of the tools and agents that the model sees in the next step of this generation only; [] means none.',
      ),
  })
  .describe('Outputs of client tool calls of a generation and its child runs.')

export type GivenOutputs = z.output<typeof submission>

export const outputOutcome = part('OutputOutcome', 'The outcome of one submitted output.', {
  toolCallId: idShape('The id of the tool call.'),
  status: choice('OutputOutcomeStatus', 'The outcome of one submitted output.', {
    ACCEPTED: 'The output was accepted and settled the call.',
    UNCHANGED: 'An identical output was submitted before; nothing changed.',
    REFUSED: 'The output was refused and the call is unchanged; error says why.',
  }).describe('Whether the output was accepted, unchanged or refused.'),
  error: entity<{ code: ErrorCode; message: string }>()('ItemError')
    .nullable()
    .describe('The reason for the refusal; null when the output was not refused.'),
})
export type OutputOutcome = z.output<typeof outputOutcome>

/** One output, judged. `call` is null when there is no such call, `result` unless the output was accepted. */
interface Judged {
  outcome: OutputOutcome
  call: ToolCall | null
  result: ToolResult | null
  hash: string
}
export type AcceptedOutput = Judged & { call: ToolCall; result: ToolResult }

/** What a submission comes to. */
export interface Judgement {
  accepted: AcceptedOutput[]
  outcomes: OutputOutcome[]
  /** Settings for the next step of the named generation. */
  hint: NextStep | null
}

/**
 * Judges the outputs by the calls as they are at `now`, in milliseconds since 1970. Throws GENERATION_TERMINAL when the
 * named generation has ended, unless all outputs are identical repeats, and INVALID for settings of a next step that is
 * not the named generation's. Null when `mayBeElsewhere` and an output has no call among these: it may be for a
 * child run.
 */
export async function judge(
  db: Database,
  named: Generation,
  calls: ToolCall[],
  given: GivenOutputs,
  now: number,
  mayBeElsewhere: boolean,
): Promise<Judgement | null> {
  const judged = await judgeAll(db, calls, given, now)
  if (mayBeElsewhere && judged.some((one) => one.call === null)) return null
  if (isTerminal(named.storedStatus) && judged.some((one) => one.outcome.status !== 'UNCHANGED'))
    throw new AppError(
      'GENERATION_TERMINAL',
      `This generation has ended (${named.storedStatus}); it takes no more outputs.`,
    )
  const refused = given.atomic === true && judged.some((one) => one.outcome.status === 'REFUSED')
  const accepted = refused
    ? []
    : (judged.filter((one) => one.outcome.status === 'ACCEPTED') as AcceptedOutput[])
  const outcomes = judged.map((one) => (refused ? refuseWithOthers(one.outcome) : one.outcome))
  const hint = nextStepOf(given)
  if (hint && accepted.length > 0 && !accepted.some((one) => one.call.generationId === named.id))
    throw invalidAt(
      ['input', given.toolChoice ? 'toolChoice' : 'activeToolIds'],
      'is for the next step of the generation that is named, and none of these outputs is its own',
    )
  return { accepted, outcomes, hint }
}

async function judgeAll(
  tx: Database,
  calls: ToolCall[],
  given: GivenOutputs,
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
      refuse(
        'CONFLICT',
        call.status === 'AWAITING_APPROVAL'
          ? 'This call waits for its approval; nobody may run it yet.'
          : 'This call was not given to a client yet; nobody may run it before requiredAction names it.',
      )
    else if (!isOpen(call)) refuse('CONFLICT', `This call is settled already (${call.status}).`)
    else if (call.deadlineAt !== null && call.deadlineAt.getTime() <= now)
      refuse('EXPIRED', 'The time for the output of this call is over.')
    else {
      const result = resultOf((output ?? null) as Json, isError ?? false)
      const definition = await loadVersion(tx, call.toolId!, call.toolVersion!)
      const fault = resultFault({ ...definition, projectId: call.projectId }, result)
      if (fault !== null) refuse('INVALID', `The tool's output ${fault}`)
      else judged.push({ outcome: { toolCallId, status: 'ACCEPTED', error: null }, call, result, hash })
    }
  }
  return judged
}

function resultOf(output: Json, isError: boolean): ToolResult {
  const text = typeof output === 'string' ? output : writeJson(output)
  return {
    content: [{ type: 'text', text }],
    ...(typeof output === 'string' ? {} : { structuredContent: output }),
    isError,
  }
}

const refusedWithOthers = {
  code: 'CONFLICT',
  message: 'Refused together with another output of this atomic submission.',
} as const

/** Whether the output is refused only because another one of an atomic submission is. */
export function isRefusedWithOthers({ error }: OutputOutcome): boolean {
  return error === refusedWithOthers
}

function refuseWithOthers(outcome: OutputOutcome): OutputOutcome {
  if (outcome.status !== 'ACCEPTED') return outcome
  return { ...outcome, status: 'REFUSED', error: refusedWithOthers }
}

function nextStepOf(given: GivenOutputs): NextStep | null {
  const next: NextStep = {
    ...(given.toolChoice ? { toolChoice: given.toolChoice } : {}),
    ...(given.activeToolIds ? { activeToolIds: given.activeToolIds } : {}),
  }
  return isJsonObject(next) && Object.keys(next).length > 0 ? next : null
}

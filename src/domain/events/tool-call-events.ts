/** Events of tool calls, in a generation and outside any. */
import { z } from 'zod'
import { withExample } from '../../core/shapes.ts'
import { internal } from '../../core/view.ts'
import {
  event,
  inGeneration,
  ofRequester,
  code,
  deciderField,
  name,
  number,
  stepIndex,
  toolCallId,
} from './define.ts'

const named = { toolCallId, name }
/** The step is absent outside a generation, and where an approval settles the call. */
const call = { ...named, stepIndex: internal(withExample(z.int().nullish(), 2)) }
const of = { log: inGeneration, group: 'calls' } as const

const settledStatus = code(
  'The outcome of the call, a ToolCallStatus.',
  ['SUCCEEDED', 'ERRORED', 'INVALID', 'UNKNOWN', 'REJECTED', 'EXPIRED', 'SKIPPED', 'CANCELLED'],
  'SUCCEEDED',
)
/** The status of a settled call. */
export type SettledStatus = z.output<typeof settledStatus>

const unknownReason = code(
  'Why the outcome is unknown: NO_RESPONSE (the tool gave no final response), NOT_STORED (the database refused to ' +
    'store the response), WORKER_LOST (the process that sent the call was lost) or GENERATION_ENDED (the generation ended while the call ran).',
  ['NO_RESPONSE', 'NOT_STORED', 'WORKER_LOST', 'GENERATION_ENDED'],
  'NO_RESPONSE',
)
/** Why the outcome of a call is unknown. */
export type UnknownReason = z.output<typeof unknownReason>

export const toolCallProposed = event('TOOL_CALL_PROPOSED', {
  ...of,
  about: 'The model requested a tool call.',
  data: { ...named, stepIndex },
  onlyInRun: true,
})
export const toolCallStarted = event('TOOL_CALL_STARTED', {
  ...of,
  about: 'A tool call is being sent.',
  data: { ...call, attempt: number('The number of the attempt that begins, from 1.', 1) },
  onlyInRun: true,
})
export const toolCallSettled = event('TOOL_CALL_SETTLED', {
  ...of,
  about: 'A tool call has its outcome.',
  data: { ...call, status: settledStatus },
  onlyInRun: true,
})
/** Written just before the TOOL_CALL_SETTLED of the same call. */
export const toolCallUnknown = event('TOOL_CALL_UNKNOWN', {
  ...of,
  about:
    'The outcome of a tool call is unknown: it was sent and may have taken effect, and is not repeated. A ' +
    'ToolCallSettledEvent with the status UNKNOWN follows; resolveUnknownCall sets the outcome.',
  data: { ...call, reason: unknownReason },
})
/** Decided by a key; by `system` and `late` when the tool's own result came after the call was UNKNOWN. */
export const unknownCallResolved = event('UNKNOWN_CALL_RESOLVED', {
  ...of,
  log: ofRequester,
  about:
    'The outcome of a tool call with status UNKNOWN became known: a person set it, or the result arrived late.',
  data: {
    ...named,
    outcome: code(
      'The outcome that was set: SUCCEEDED, FAILED or RUN_AGAIN.',
      ['SUCCEEDED', 'FAILED', 'RUN_AGAIN'],
      'FAILED',
    ),
    decidedBy: withExample(deciderField.clone(), 'system'),
    late: internal(withExample(z.literal(true).optional(), true)),
  },
})

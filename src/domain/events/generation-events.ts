/** Events of a generation itself, and of the child runs that its calls start. */
import { z } from 'zod'
import { withExample } from '../../core/shapes.ts'
import { internal, withRelation } from '../../core/view.ts'
import {
  copiedToRoot,
  event,
  inGeneration,
  agentId,
  code,
  id,
  name,
  number,
  reason,
  stepIndex,
  toolCallId,
} from './define.ts'

const of = { log: inGeneration, group: 'runs' } as const
const ofNothing = { ...of, data: {} }
const inStep = { ...of, onlyInRun: true } as const

export const generationQueued = event('GENERATION_QUEUED', {
  object: 'GenerationStatus',
  ...of,
  about: 'A generation was created.',
  data: { agentId: internal(agentId.clone()) },
})
export const generationStarted = event('GENERATION_STARTED', {
  object: 'GenerationStatus',
  ...ofNothing,
  about: 'A worker claimed the generation for the first time.',
})
export const generationResumed = event('GENERATION_RESUMED', {
  object: 'GenerationStatus',
  ...ofNothing,
  about: 'A worker claimed the generation again after a pause.',
})

const modelFaults = [
  'MODEL_NOT_CONFIGURED',
  'MODEL_AUTH',
  'MODEL_RATE_LIMITED',
  'MODEL_UNAVAILABLE',
  'MODEL_BAD_REQUEST',
  'CONTEXT_OVERFLOW',
] as const
const resetReason = reason([...modelFaults, 'WORKER_LOST'], 'MODEL_RATE_LIMITED')
/** A model attempt failed with this code, or its worker was lost during it. */
export type StepResetReason = z.output<typeof resetReason>

export const stepReset = event('STEP_RESET', {
  ...inStep,
  about: 'An attempt of a step failed and another one begins: discard the text of the step.',
  data: {
    stepIndex,
    attempt: number('The number of the attempt that begins, from 1.', 3),
    reason: resetReason,
  },
})
export const messageCommitted = event('MESSAGE_COMMITTED', {
  ...inStep,
  about: "The model's response is committed, with its whole text.",
  data: {
    stepIndex: withRelation(stepIndex.clone(), {
      as: 'step',
      entity: 'Step',
      about: 'The committed step with the whole text.',
    }),
  },
})
export const requiresAction = event('REQUIRES_ACTION', {
  ...of,
  log: copiedToRoot,
  about: 'The generation waits for client tool calls: run them in the client, then submitToolOutputs.',
  data: {
    toolCallIds: withRelation(internal(withExample(z.array(z.string()), ['call_1', 'call_2'])), {
      as: 'toolCalls',
      entity: 'ToolCall',
      about: 'The open client tool calls that the generation waits for.',
    }),
  },
})

/** A tool call of an agent, and the run that it started. */
const childRun = {
  toolCallId,
  name,
  childId: withRelation(id('The id of the child run.', 'gen_child'), {
    as: 'child',
    entity: 'Generation',
    about: 'The child run as it is now; null when it is hidden from this API key.',
  }),
}

export const childStarted = event('CHILD_STARTED', {
  ...inStep,
  log: copiedToRoot,
  about: 'A tool call of an agent started a child run, in this generation or in one of its child runs.',
  data: { ...childRun, agentId },
})
export const childEnded = event('CHILD_ENDED', {
  ...inStep,
  log: copiedToRoot,
  about:
    'A child run ended, in this generation or in one of its child runs; its final answer is the result of the call.',
  data: {
    ...childRun,
    status: code(
      'The final status of the child run, a GenerationStatus.',
      ['COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED'],
      'COMPLETED',
    ),
  },
})

/** Why a generation ended by itself. */
export const stopReason = code(
  'Why the generation ended, a StopReason.',
  ['END_TURN', 'STOP_CONDITION', 'MAX_STEPS', 'LENGTH', 'CONTENT_FILTER', 'BUDGET'],
  'END_TURN',
)
/** Why a generation failed. */
export const failureCode = code(
  'Why the generation failed, a GenerationFailureCode.',
  [...modelFaults, 'OUTPUT_SCHEMA_VIOLATION', 'TEXT_ENCODED_TOOL_CALL', 'NOT_STORED', 'INTERNAL'],
  'INTERNAL',
)
export const generationCompleted = event('GENERATION_COMPLETED', {
  ...of,
  about: 'The generation completed.',
  data: { stopReason },
})
export const generationFailed = event('GENERATION_FAILED', {
  ...of,
  about: 'The generation failed.',
  data: { code: failureCode },
})
export const generationCancelled = event('GENERATION_CANCELLED', {
  object: 'GenerationStatus',
  ...ofNothing,
  about: 'The generation was cancelled.',
})
export const generationExpired = event('GENERATION_EXPIRED', {
  object: 'GenerationStatus',
  ...ofNothing,
  about: 'The generation reached its deadline.',
})

const last = new Set<string>(
  [generationCompleted, generationFailed, generationCancelled, generationExpired].map(({ type }) => type),
)

/** Whether an event of this type is the last one in the log of its generation. */
export function isLastOfGeneration(type: string): boolean {
  return last.has(type)
}

/** Where generations stand and how they end, in words. */
import { failureCodes, generationStatuses, stopReasons } from '../../domain/generations/index.ts'
import { described } from './described.ts'
import type { Refs } from './refs.ts'

export type GenerationEnums = ReturnType<typeof addGenerationEnums>

/** Adds the enums and answers them. */
export function addGenerationEnums(refs: Refs) {
  const { builder } = refs
  return {
    status: builder.enumType('GenerationStatus', {
      description: 'Where a generation stands. The last four are final.',
      values: described(generationStatuses, statusDescriptions),
    }),
    stopReason: builder.enumType('StopReason', {
      description: 'Why a completed generation ended.',
      values: described(stopReasons, stopMeanings),
    }),
    failure: builder.enumType('GenerationFailureCode', {
      description: 'Why a generation failed.',
      values: described(failureCodes, failureMeanings),
    }),
  }
}

const stopMeanings: Record<(typeof stopReasons)[number], string> = {
  END_TURN: 'The model had no more to say.',
  STOP_CONDITION: 'A stop condition of the agent was met.',
  MAX_STEPS: 'maxSteps was reached.',
  LENGTH: "The model's answer was cut at maxOutputTokens or at the model's own limit.",
  CONTENT_FILTER: 'The provider stopped the answer.',
  BUDGET: 'A budget of tokens was used up.',
}

const failureMeanings: Record<(typeof failureCodes)[number], string> = {
  MODEL_NOT_CONFIGURED: 'The model or its provider is not set up here.',
  MODEL_AUTH: "The provider refused the installation's key.",
  MODEL_RATE_LIMITED: 'The provider refused too many requests, also when asked again.',
  MODEL_UNAVAILABLE: 'The provider did not answer, also when asked again.',
  MODEL_BAD_REQUEST: 'The provider refused the request itself.',
  CONTEXT_OVERFLOW: 'The conversation does not fit the model.',
  OUTPUT_SCHEMA_VIOLATION: 'The answer did not fit outputSchema, also after a repair.',
  TEXT_ENCODED_TOOL_CALL: 'The model wrote its tool calls as text, also after a repair.',
  INTERNAL: 'A fault of the server.',
}

const statusDescriptions: Record<(typeof generationStatuses)[number], string> = {
  QUEUED: 'Waits for a worker.',
  RUNNING: 'A worker has it.',
  REQUIRES_ACTION: 'Waits for submitToolOutputs.',
  AWAITING_APPROVAL: 'Waits for a verdict on a gated call.',
  COMPLETED: 'Done; see stopReason.',
  FAILED: 'See error.',
  CANCELLED: 'Cancelled by cancelGeneration.',
  EXPIRED: 'Its time, or that of a client output, is over.',
}

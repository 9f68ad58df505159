/** The enums of generations: their status, why they stopped and why they failed. */
import { failureCodes, generationStatuses, stopReasons } from '../../../domain/generations/index.ts'
import { described } from '../builder/described.ts'
import type { Refs } from '../builder/refs.ts'

export type GenerationEnums = ReturnType<typeof addGenerationEnums>

/** Adds the enums to the schema and returns their refs. */
export function addGenerationEnums(refs: Refs) {
  const { builder } = refs
  return {
    status: builder.enumType('GenerationStatus', {
      description: 'The status of a generation. COMPLETED, FAILED, CANCELLED and EXPIRED are final.',
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
  END_TURN: 'The model ended its turn without a tool call.',
  STOP_CONDITION: 'A stop condition of the agent was met.',
  MAX_STEPS: 'The generation reached maxSteps.',
  LENGTH: "The model's response was cut at maxOutputTokens or at the model's own limit.",
  CONTENT_FILTER: 'The content filter of the provider stopped the response.',
  BUDGET: 'The generation or its agent used up a token budget.',
}

const failureMeanings: Record<(typeof failureCodes)[number], string> = {
  MODEL_NOT_CONFIGURED: 'The model or its provider is not configured in this installation or project.',
  MODEL_AUTH: 'The provider refused the API key that is configured for it.',
  MODEL_RATE_LIMITED: 'The provider refused the request for its rate limit, and refused every retry.',
  MODEL_UNAVAILABLE: 'The provider did not respond, and every retry failed.',
  MODEL_BAD_REQUEST: 'The provider refused the request as invalid.',
  CONTEXT_OVERFLOW: 'The conversation does not fit the context window of the model.',
  OUTPUT_SCHEMA_VIOLATION: 'The response did not match outputSchema, and the one repair failed too.',
  TEXT_ENCODED_TOOL_CALL: 'The model wrote its tool calls as text, and did so again after one repair.',
  NOT_STORED:
    'What the run did could not be stored: the database refused it, or no response was stored in as many tries as a step has.',
  INTERNAL: 'The server failed unexpectedly.',
}

const statusDescriptions: Record<(typeof generationStatuses)[number], string> = {
  QUEUED: 'The generation waits for a worker.',
  RUNNING: 'A worker runs the generation.',
  REQUIRES_ACTION: 'The generation waits for outputs of client tools: submitToolOutputs.',
  AWAITING_APPROVAL: 'The generation waits for a verdict on a gated call: decideApproval.',
  COMPLETED: 'The generation ended normally; stopReason says why.',
  FAILED: 'The generation failed; error says why.',
  CANCELLED: 'The generation was cancelled with cancelGeneration.',
  EXPIRED: 'The generation reached its deadline, or a client output missed its own.',
}

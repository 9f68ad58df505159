/** Events of a generation itself, and of the child runs that its calls start. */
import { copiedToRoot, inGeneration, kindsOf } from './define.ts'

type Nothing = Record<never, never>

/** A model attempt failed with this code, or its worker was lost during it. */
export type StepResetReason =
  | 'MODEL_NOT_CONFIGURED'
  | 'MODEL_AUTH'
  | 'MODEL_RATE_LIMITED'
  | 'MODEL_UNAVAILABLE'
  | 'MODEL_BAD_REQUEST'
  | 'CONTEXT_OVERFLOW'
  | 'WORKER_LOST'

type StopReason = 'END_TURN' | 'STOP_CONDITION' | 'MAX_STEPS' | 'LENGTH' | 'CONTENT_FILTER' | 'BUDGET'

type FailureCode =
  | Exclude<StepResetReason, 'WORKER_LOST'>
  | 'OUTPUT_SCHEMA_VIOLATION'
  | 'TEXT_ENCODED_TOOL_CALL'
  | 'NOT_STORED'
  | 'INTERNAL'

/** A tool call of an agent, and the run that it started. */
type ChildRun = { toolCallId: string; name: string; childId: string }

export interface GenerationEvents {
  GENERATION_QUEUED: { agentId: string }
  GENERATION_STARTED: Nothing
  GENERATION_RESUMED: Nothing
  /** `attempt`: the next attempt. */
  STEP_RESET: { stepIndex: number; attempt: number; reason: StepResetReason }
  MESSAGE_COMMITTED: { stepIndex: number }
  REQUIRES_ACTION: { toolCallIds: string[] }
  CHILD_STARTED: ChildRun & { agentId: string }
  CHILD_ENDED: ChildRun & { status: 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'EXPIRED' }
  GENERATION_COMPLETED: { stopReason: StopReason }
  GENERATION_FAILED: { code: FailureCode }
  GENERATION_CANCELLED: Nothing
  GENERATION_EXPIRED: Nothing
}

const kind = kindsOf<GenerationEvents>()

export const generationQueued = kind('GENERATION_QUEUED', inGeneration)
export const generationStarted = kind('GENERATION_STARTED', inGeneration)
export const generationResumed = kind('GENERATION_RESUMED', inGeneration)
export const stepReset = kind('STEP_RESET', inGeneration)
export const messageCommitted = kind('MESSAGE_COMMITTED', inGeneration)
export const requiresAction = kind('REQUIRES_ACTION', copiedToRoot)
export const childStarted = kind('CHILD_STARTED', copiedToRoot)
export const childEnded = kind('CHILD_ENDED', copiedToRoot)
export const generationCompleted = kind('GENERATION_COMPLETED', inGeneration)
export const generationFailed = kind('GENERATION_FAILED', inGeneration)
export const generationCancelled = kind('GENERATION_CANCELLED', inGeneration)
export const generationExpired = kind('GENERATION_EXPIRED', inGeneration)

const last = new Set<string>(
  [generationCompleted, generationFailed, generationCancelled, generationExpired].map(({ type }) => type),
)

/** Whether an event of this type is the last one in the log of its generation. */
export function isLastOfGeneration(type: string): boolean {
  return last.has(type)
}

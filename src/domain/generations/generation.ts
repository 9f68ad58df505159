/** A generation: its statuses, its stop reasons and its row as the domain sees it. Pure. */
import * as view from '../../core/view.ts'
import type { Json } from '../../core/json.ts'
import type { z } from 'zod'
import { choice, entity, part, idOf } from '../../core/shapes.ts'
import { callbackSecretShape } from '../followers/index.ts'
import type { TraceContext } from '../../core/telemetry/unit.ts'
import type { generations } from '../../store/db/tables/generations.ts'
import { actsForOf, type Requester } from '../access/index.ts'
import { failureCode, stopReason } from '../events/index.ts'
import type { AgentSettings, ToolChoiceRule } from '../agents/index.ts'
import { usedModel } from './steps.ts'
import { isOpen, type ToolCall } from '../tool-calls/index.ts'
import type { Message } from '../models/index.ts'
import { waitsForChild } from './nesting/deadline.ts'

/** The stored status. The last four are terminal and never change. */
export type StoredStatus = 'QUEUED' | 'RUNNING' | 'WAITING' | 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'EXPIRED'

/** The status in the API, where WAITING is replaced by what the generation waits for. */
export const generationStatus = choice(
  'GenerationStatus',
  'The status of a generation. COMPLETED, FAILED, CANCELLED and EXPIRED are final.',
  {
    QUEUED: 'The generation waits for a worker.',
    RUNNING: 'A worker runs the generation.',
    REQUIRES_ACTION: 'The generation waits for outputs of client tools: submitToolOutputs.',
    AWAITING_APPROVAL: 'The generation waits for a verdict on a gated call: decideApproval.',
    COMPLETED: 'The generation ended normally; stopReason says why.',
    FAILED: 'The generation failed; error says why.',
    CANCELLED: 'The generation was cancelled with cancelGeneration.',
    EXPIRED: 'The generation reached its deadline, or a client output missed its own.',
  },
)
export type GenerationStatus = z.output<typeof generationStatus>

const stopReasonChoice = choice('StopReason', 'Why a completed generation ended.', {
  END_TURN: 'The model ended its turn without a tool call.',
  STOP_CONDITION: 'A stop condition of the agent was met.',
  MAX_STEPS: 'The generation reached maxSteps.',
  LENGTH: "The model's response was cut at maxOutputTokens or at the model's own limit.",
  CONTENT_FILTER: 'The content filter of the provider stopped the response.',
  BUDGET: 'The generation or its agent used up a token budget.',
} satisfies Record<StopReason, string>)
export type StopReason = z.output<typeof stopReason>

const failureCodeChoice = choice('GenerationFailureCode', 'Why a generation failed.', {
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
} satisfies Record<FailureCode, string>)
export type FailureCode = z.output<typeof failureCode>

/**
 * The status in the API. WAITING is derived from the open calls of the generation and its descendants:
 * REQUIRES_ACTION for a client call, else AWAITING_APPROVAL for an approval, else RUNNING when only child runs are
 * open.
 */
export function shownStatus(stored: StoredStatus, calls: readonly ToolCall[]): GenerationStatus {
  if (stored !== 'WAITING') return stored
  const open = calls.filter((call) => isOpen(call))
  const asks = (status: ToolCall['status']) => open.some((call) => call.status === status)
  if (asks('AWAITING_CLIENT')) return 'REQUIRES_ACTION'
  if (asks('AWAITING_APPROVAL')) return 'AWAITING_APPROVAL'
  return open.some(waitsForChild) ? 'RUNNING' : 'REQUIRES_ACTION'
}

const terminal = new Set<StoredStatus>(['COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED'])

export function isTerminal(status: StoredStatus): boolean {
  return terminal.has(status)
}

/** Settings for the next step only. */
export interface NextStep {
  /** Came with submitted outputs. */
  toolChoice?: ToolChoiceRule
  activeToolIds?: string[]
  /** Appended to the instructions of the step. */
  notice?: string
  /** The step is the one repair of an invalid answer. */
  repair?: true
  /** The step is the final answer, without tools, because of this limit. */
  final?: 'MAX_STEPS'
}

/** The history with which a retry begins. */
export interface RetryOf {
  generationId: string
  /** The last step of it that belongs to the history, from 1; 0: only what was there before its input. */
  step: number
}

/** Where the run is in a trace. */
export interface StoredTrace extends TraceContext {
  /** The number of the activation whose span this is; absent: it is of the request that started the run. */
  activation?: number
  /** When that activation ended, in seconds since 1970 by the database. */
  at?: number
}

export const generationShape = part(
  'Generation',
  'One run of an agent: a loop of model steps and tool calls.',
  {
    id: idOf('generation'),
    agentId: view.object(
      'agent',
      'Agent',
      'The agent as it is now; null when it was deleted or is hidden from this API key.',
    ),
    threadId: view.object(
      'thread',
      'Thread',
      'The thread of the generation; null when it is hidden from this API key.',
      'The id of the thread; start another generation with it to continue the conversation.',
    ),
    parentId: view
      .object(
        'parent',
        'Generation',
        'The generation whose tool call started this one; null for a generation without a parent.',
      )
      .nullable(),
    rootId: view
      .object(
        'root',
        'Generation',
        'The topmost ancestor of the generation; null for a generation without a parent.',
      )
      .nullable(),
    depth: view.int('The number of ancestors, at most 4.'),
    requestedBy: view.principal(
      'requester',
      'The principal that started the generation.',
      'The id of the API key or person that started the generation.',
    ),
    actsFor: view
      .principal(
        'actsFor',
        'The person for whom the program acted that started the generation; null when the requester acted alone.',
      )
      .nullable(),
    stepCount: view.int('The number of model steps committed so far.'),
    model: usedModel.describe('The model that was used last; null before the first attempt.').nullable(),
    stopReason: stopReasonChoice
      .describe('Why the generation ended; null unless the status is COMPLETED.')
      .nullable(),
    truncated: view.flag('Whether a limit ended the generation before the model was done.'),
    error: part('GenerationError', 'The failure that ended a generation.', {
      code: failureCodeChoice.describe('The stable code of the failure, for programs.'),
      message: view.text('An explanation of the failure for people.'),
    })
      .describe('Why the generation failed; null unless the status is FAILED.')
      .nullable(),
    output: part('GenerationOutput', 'The output of a completed generation.', {
      text: view.text('The final text of the model; null when there is none.').nullable(),
      object: view
        .json('The structured output, which matches outputSchema; null without an outputSchema.')
        .nullable(),
    })
      .describe('The output of the generation; null unless the status is COMPLETED.')
      .nullable(),
    cancelRequestedAt: view.date('When cancelGeneration was called; null when it was not.').nullable(),
    cancelReason: view.text('The reason given to cancelGeneration; null when none was given.').nullable(),
    /** See nesting/deadline.ts. */
    deadlineAt: view.date(
      'When the generation expires. Time in which it or a child run waits for an approver is added.',
    ),
    createdAt: view.date('When the generation was created.'),
    startedAt: view.date('When a worker first claimed the generation; null before that.').nullable(),
    finishedAt: view.date('When the generation ended; null before that.').nullable(),
  },
)
export interface Generation extends z.output<typeof generationShape> {
  projectId: string
  agentVersion: number
  storedStatus: StoredStatus
  settings: AgentSettings
  input: Message[]
  /** Rights of a person with a token, frozen when the generation was created, or for whom a program acts; null for any other key. */
  requester: Requester | null
  trace: StoredTrace | null
  /** For a child run: the parent's call that waits for it. */
  parentCallId: string | null
  /** What a retry begins with; null for other runs. */
  retryOf: RetryOf | null
  attempt: number
  nextStep: NextStep | null
  inputTokens: number
  outputTokens: number
  lastSeq: number
}

export const Generation = entity<Generation>()('Generation')

/** What the columns of a retry say. */
export function retryOf({
  retryOfId,
  retryStep,
}: Pick<typeof generations.$inferSelect, 'retryOfId' | 'retryStep'>): RetryOf | null {
  return retryOfId === null ? null : { generationId: retryOfId, step: retryStep ?? 0 }
}

export function generationOf(row: typeof generations.$inferSelect): Generation {
  const storedStatus = row.status as StoredStatus
  const { id, projectId, agentId, agentVersion, threadId, requestedBy, stepCount, attempt, truncated } = row
  const { inputTokens, outputTokens, lastSeq, cancelRequestedAt, cancelReason, deadlineAt } = row
  const { createdAt, startedAt, finishedAt, parentId, parentCallId, rootId, depth } = row
  return {
    id,
    projectId,
    agentId,
    agentVersion,
    threadId,
    requestedBy,
    parentId,
    parentCallId,
    rootId,
    depth,
    retryOf: retryOf(row),
    stepCount,
    attempt,
    truncated,
    inputTokens,
    outputTokens,
    lastSeq,
    cancelRequestedAt,
    cancelReason,
    deadlineAt,
    createdAt,
    startedAt,
    finishedAt,
    storedStatus,
    requester: row.requester as Requester | null,
    actsFor: actsForOf(row.requester as Requester | null),
    trace: row.trace as StoredTrace | null,
    settings: row.settings as AgentSettings,
    input: row.input as Message[],
    nextStep: row.nextStep as NextStep | null,
    model: row.model === null ? null : { name: row.model, kind: row.modelKind! },
    stopReason: row.stopReason as StopReason | null,
    error: row.errorCode === null ? null : { code: row.errorCode as FailureCode, message: row.errorMessage! },
    output:
      storedStatus === 'COMPLETED' ? { text: row.outputText, object: row.outputObject as Json | null } : null,
  }
}

/**
 * The id of the thread that a generation without `threadId` begins: derived from the generation's id, so it has no
 * history.
 */
export function ownThreadId(generationId: string): string {
  return generationId.replace(/^gen_/, 'thr_')
}

/** What operations on one generation return. */
export const generationPayload = part('GenerationPayload', 'The generation after the mutation.', {
  generation: Generation.describe('The generation after the mutation.'),
  callbackSecret: callbackSecretShape,
})

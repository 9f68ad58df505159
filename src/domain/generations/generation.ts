/** What a generation is: its states, its reasons and its row as the domain sees it. Pure. */
import type { Json, JsonObject } from '../../core/json.ts'
import type { generations, steps } from '../../store/db/tables/generations.ts'
import type { Requester } from '../access/index.ts'
import type { AgentSettings, ToolChoiceRule } from '../agents/index.ts'
import { isOpen, type ToolCall } from '../tool-calls/index.ts'
import type { AssistantPart, Message } from './model/message.ts'
import type { Usage } from './model/port.ts'
import { waitsForChild } from './nesting/limits.ts'

/** As stored. The last four are terminal: nothing changes them. */
export type StoredStatus = 'QUEUED' | 'RUNNING' | 'WAITING' | 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'EXPIRED'

/** As shown: WAITING tells what it waits for. */
export const generationStatuses = [
  'QUEUED',
  'RUNNING',
  'REQUIRES_ACTION',
  'AWAITING_APPROVAL',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'EXPIRED',
] as const
export type GenerationStatus = (typeof generationStatuses)[number]

export const stopReasons = [
  'END_TURN',
  'STOP_CONDITION',
  'MAX_STEPS',
  'LENGTH',
  'CONTENT_FILTER',
  'BUDGET',
] as const
export type StopReason = (typeof stopReasons)[number]

export const failureCodes = [
  'MODEL_NOT_CONFIGURED',
  'MODEL_AUTH',
  'MODEL_RATE_LIMITED',
  'MODEL_UNAVAILABLE',
  'MODEL_BAD_REQUEST',
  'CONTEXT_OVERFLOW',
  'OUTPUT_SCHEMA_VIOLATION',
  'TEXT_ENCODED_TOOL_CALL',
  'INTERNAL',
] as const
export type FailureCode = (typeof failureCodes)[number]

/**
 * What a generation shows as: WAITING is told by its open calls and those of the runs under it. A client call comes
 * before an approval; one that waits for runs and for nobody else is RUNNING.
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

/** What holds for the next step only. */
export interface NextStep {
  /** Given with submitted outputs. */
  toolChoice?: ToolChoiceRule
  activeToolIds?: string[]
  /** Told to the model at the end of its instructions. */
  notice?: string
  /** The step is the one repair that a faulty answer gets. */
  repair?: true
  /** The step is the last answer, without tools, because of this limit. */
  final?: 'MAX_STEPS'
}

export interface Generation {
  id: string
  projectId: string
  agentId: string
  agentVersion: number
  threadId: string
  storedStatus: StoredStatus
  settings: AgentSettings
  input: Message[]
  requestedBy: string
  /** With which rights, when it was a person with a token: frozen with the run. Null for a key. */
  requester: Requester | null
  /** Of a run that another run asked for: that run, its call that waits, and the first of the chain. */
  parentId: string | null
  parentCallId: string | null
  rootId: string | null
  /** Runs above it. */
  depth: number
  stepCount: number
  attempt: number
  nextStep: NextStep | null
  model: { name: string; kind: string } | null
  stopReason: StopReason | null
  truncated: boolean
  error: { code: FailureCode; message: string } | null
  output: { text: string | null; object: Json | null } | null
  inputTokens: number
  outputTokens: number
  lastSeq: number
  cancelRequestedAt: Date | null
  cancelReason: string | null
  /** Time that it waits for a person does not count: see clock.ts. */
  deadlineAt: Date
  createdAt: Date
  startedAt: Date | null
  finishedAt: Date | null
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

/** The thread that a generation begins: it tells by its id that nothing came before. */
export function ownThreadId(generationId: string): string {
  return generationId.replace(/^gen_/, 'thr_')
}

/** One model answer, as committed. */
export interface Step {
  id: string
  projectId: string
  generationId: string
  /** Counts from 1. */
  stepIndex: number
  /** The attempt that succeeded, from 1. */
  attempt: number
  model: { name: string; kind: string }
  parts: AssistantPart[]
  /** The tools as they were sent. */
  surface: StepTool[]
  toolChoice: JsonObject
  finishReason: string
  usage: Usage
  /** What the loop told the model before this step. */
  notice: string | null
  elided: JsonObject | null
  createdAt: Date
}

export interface StepTool {
  name: string
  toolId: string
  version: number
}

export function stepOf(row: typeof steps.$inferSelect): Step {
  const { model: name, modelKind: kind, ...rest } = row
  return { ...rest, model: { name, kind } } as Step
}

/** Tasks, messages, artifacts and updates in the shapes of A2A 1.0. Pure. */
import type { JsonObject } from '../../../core/json.ts'
import { shownArguments, type Approval } from '../../../domain/approvals/index.ts'
import { inputOf, type Generation } from '../../../domain/generations/index.ts'
import { textOf } from '../../../domain/models/index.ts'
import type { ToolCall } from '../../../domain/tool-calls/index.ts'
import { questionId, failureText } from '../segments/presentation.ts'
import { asksCaller, type RequiredInput, type TaskState } from './task.ts'

export type A2aState =
  | 'TASK_STATE_SUBMITTED'
  | 'TASK_STATE_WORKING'
  | 'TASK_STATE_INPUT_REQUIRED'
  | 'TASK_STATE_COMPLETED'
  | 'TASK_STATE_FAILED'
  | 'TASK_STATE_CANCELED'

const states: Record<Generation['storedStatus'], A2aState> = {
  QUEUED: 'TASK_STATE_SUBMITTED',
  RUNNING: 'TASK_STATE_WORKING',
  WAITING: 'TASK_STATE_WORKING',
  COMPLETED: 'TASK_STATE_COMPLETED',
  FAILED: 'TASK_STATE_FAILED',
  CANCELLED: 'TASK_STATE_CANCELED',
  EXPIRED: 'TASK_STATE_FAILED',
}

/** A run that waits for others only is still working, as this caller sees it. */
export function stateOf(task: TaskState): A2aState {
  return asksCaller(task) ? 'TASK_STATE_INPUT_REQUIRED' : states[task.generation.storedStatus]
}

export interface TaskView {
  /** The most messages, the newest; null: all. */
  historyLength: number | null
  artifacts: boolean
}

export function taskOf(task: TaskState, { historyLength, artifacts }: TaskView): JsonObject {
  const { generation } = task
  const history =
    historyLength === 0 ? [] : historyOf(generation).slice(historyLength === null ? 0 : -historyLength)
  return {
    id: generation.id,
    contextId: generation.threadId,
    status: statusOf(task),
    ...(artifacts ? { artifacts: artifactsOf(task) } : {}),
    ...(history.length > 0 ? { history } : {}),
  }
}

export function statusOf(task: TaskState): JsonObject {
  const { generation, asked } = task
  const parts = asksCaller(task) ? questionParts(asked) : endParts(generation)
  const state = stateOf(task)
  const since = [...asked.calls, ...asked.approvals].map(({ createdAt }) => createdAt.getTime())
  const { finishedAt, startedAt, createdAt } = generation
  const at = since.length > 0 ? new Date(Math.max(...since)) : (finishedAt ?? startedAt ?? createdAt)
  return {
    state,
    timestamp: at.toISOString(),
    ...(parts.length > 0
      ? { message: messageOf(generation, `status_${generation.lastSeq}`, 'ROLE_AGENT', parts) }
      : {}),
  }
}

function messageOf(
  { id, threadId }: Generation,
  name: string,
  role: 'ROLE_AGENT' | 'ROLE_USER',
  parts: JsonObject[],
): JsonObject {
  const messageId = `${id.replace(/^gen_/, 'msg_')}_${name}`
  return { messageId, taskId: id, contextId: threadId, role, parts }
}

/** What the run was started with. Its own words are artifacts. */
function historyOf(generation: Generation): JsonObject[] {
  return inputOf(generation).map(({ role, content, attachments }, i) =>
    messageOf(generation, `input_${i}`, role === 'USER' ? 'ROLE_USER' : 'ROLE_AGENT', [
      { text: content },
      ...attachments.flatMap(({ fileId, filename, mediaType }) =>
        fileId ? [{ url: fileId, mediaType, ...(filename ? { filename } : {}) }] : [],
      ),
    ]),
  )
}

function questionParts({ calls, approvals }: RequiredInput): JsonObject[] {
  const named = [
    ...calls.map(({ runtimeName }) => `the output of ${runtimeName}`),
    ...approvals.map(({ runtimeName }) => `a verdict about ${runtimeName}`),
  ]
  return [
    { text: `The task waits for ${named.join(', ')}.` },
    ...calls.map((call) => dataPart(callQuestion(call))),
    ...approvals.map((approval) => dataPart(approvalQuestion(approval))),
  ]
}

/** With the arguments that the client needs to run it. */
function callQuestion({ id, runtimeName, arguments: args, deadlineAt }: ToolCall): JsonObject {
  return {
    asks: 'TOOL_OUTPUT',
    toolCallId: id,
    name: runtimeName,
    arguments: args ?? {},
    expiresAt: deadlineAt?.toISOString() ?? null,
  }
}

function approvalQuestion(approval: Approval): JsonObject {
  return {
    asks: 'VERDICT',
    approvalId: questionId(approval),
    toolCallId: approval.toolCallId,
    name: approval.runtimeName,
    arguments: shownArguments(approval),
    expiresAt: approval.expiresAt.toISOString(),
  }
}

function dataPart(data: JsonObject): JsonObject {
  return { data, mediaType: 'application/json' }
}

/** Why the run ended, where its output does not say it. */
function endParts(ended: Generation): JsonObject[] {
  const { storedStatus, error, stopReason, cancelReason } = ended
  if (storedStatus === 'FAILED')
    return [{ text: error?.message ?? 'The run failed.' }, dataPart({ code: error?.code ?? 'INTERNAL' })]
  if (storedStatus === 'EXPIRED') return [{ text: failureText(ended) }, dataPart({ code: 'EXPIRED' })]
  if (storedStatus === 'CANCELLED') return cancelReason ? [{ text: cancelReason }] : []
  const isDone = stopReason === 'END_TURN' || stopReason === 'STOP_CONDITION'
  if (storedStatus !== 'COMPLETED' || stopReason === null || isDone) return []
  return [{ text: 'The run ended before the model was done.' }, dataPart({ code: stopReason })]
}

function artifactsOf({ steps, generation }: TaskState): JsonObject[] {
  const texts = (steps ?? []).flatMap(({ stepIndex, parts }) => {
    const words = textOf(parts)
    return words ? [textArtifact(stepIndex, words)] : []
  })
  const result = resultArtifact(generation)
  return result ? [...texts, result] : texts
}

/** The text of one model response. */
export function textArtifact(stepIndex: number, words: string): JsonObject {
  return { artifactId: `text-${stepIndex}`, name: 'text', parts: [{ text: words }] }
}

/** The output of an agent with an output schema; null for any other. */
export function resultArtifact({ output }: Generation): JsonObject | null {
  const object = output?.object ?? null
  if (object === null) return null
  return { artifactId: 'result', name: 'result', parts: [{ data: object, mediaType: 'application/json' }] }
}

export function statusUpdate(task: TaskState): JsonObject {
  const { id, threadId } = task.generation
  return { statusUpdate: { taskId: id, contextId: threadId, status: statusOf(task) } }
}

/** `append`: the text goes on; else it replaces what was sent of the artifact. `lastChunk`: it is committed. */
export function artifactUpdate(
  { id, threadId }: Generation,
  artifact: JsonObject,
  append: boolean,
  lastChunk: boolean,
): JsonObject {
  return { artifactUpdate: { taskId: id, contextId: threadId, artifact, append, lastChunk } }
}

/** Threads, messages and runs in the shapes of OpenAI's Assistants API. */
import type { Ctx } from '../../domain/access/index.ts'
import {
  loadAskedUnder,
  type Generation,
  type Thread,
  type ThreadMessage,
} from '../../domain/generations/index.ts'
import { loadOpenCallsOf, type ToolCall } from '../../domain/tool-calls/index.ts'

const seconds = (date: Date | null) => (date ? Math.floor(date.getTime() / 1000) : null)

export function shownThread({ id, createdAt }: Thread): object {
  return { id, object: 'thread', created_at: seconds(createdAt), metadata: {}, tool_resources: {} }
}

export function shownMessage(threadId: string, message: ThreadMessage) {
  const { id, role, content, generationId, createdAt } = message
  return {
    id,
    object: 'thread.message',
    created_at: seconds(createdAt),
    thread_id: threadId,
    role: role.toLowerCase(),
    content: [{ type: 'text', text: { value: content, annotations: [] } }],
    assistant_id: null,
    run_id: role === 'ASSISTANT' ? generationId : null,
    status: 'completed',
    attachments: [],
    metadata: {},
  }
}

/**
 * The run. A call that waits for a person leaves it `in_progress`; only calls of the client make it `requires_action`.
 */
export async function shownRun(ctx: Ctx, generation: Generation): Promise<object> {
  const { id, threadId, agentId, createdAt, startedAt, finishedAt, deadlineAt, storedStatus } = generation
  const calls = storedStatus === 'WAITING' ? await clientCalls(ctx, id) : []
  const { error, inputTokens, outputTokens, settings } = generation
  const endedAt = (status: Generation['storedStatus']) =>
    storedStatus === status ? seconds(finishedAt) : null
  return {
    id,
    object: 'thread.run',
    created_at: seconds(createdAt),
    thread_id: threadId,
    assistant_id: agentId,
    status: statusOf(generation, calls.length > 0),
    required_action:
      calls.length > 0
        ? { type: 'submit_tool_outputs', submit_tool_outputs: { tool_calls: calls.map(shownCall) } }
        : null,
    last_error: error ? { code: 'server_error', message: `${error.code}: ${error.message}` } : null,
    expires_at: finishedAt ? null : seconds(deadlineAt),
    started_at: seconds(startedAt),
    cancelled_at: endedAt('CANCELLED'),
    failed_at: endedAt('FAILED'),
    completed_at: endedAt('COMPLETED'),
    incomplete_details: null,
    model: generation.model?.name ?? settings.model ?? '',
    instructions: '',
    tools: [],
    metadata: {},
    usage: finishedAt
      ? {
          prompt_tokens: inputTokens,
          completion_tokens: outputTokens,
          total_tokens: inputTokens + outputTokens,
        }
      : null,
  }
}

function statusOf({ storedStatus, cancelRequestedAt }: Generation, asks: boolean): string {
  if (storedStatus !== 'WAITING' && storedStatus !== 'RUNNING') return storedStatus.toLowerCase()
  if (cancelRequestedAt) return 'cancelling'
  return asks ? 'requires_action' : 'in_progress'
}

/** Open calls for the client, of the run and of the runs under it. */
async function clientCalls({ db }: Ctx, id: string): Promise<ToolCall[]> {
  const [own, under] = await Promise.all([loadOpenCallsOf(db, [id]), loadAskedUnder(db, [id])])
  const calls = [...own, ...under.map(({ call }) => call)]
  return calls.filter(({ status, kind }) => status === 'AWAITING_CLIENT' && kind === 'client')
}

function shownCall(call: ToolCall): object {
  const { id, runtimeName: name } = call
  return { id, type: 'function', function: { name, arguments: JSON.stringify(call.arguments ?? {}) } }
}

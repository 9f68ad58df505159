/** Assistants, threads, messages and runs in the shapes of OpenAI's Assistants API. */
import type { JsonObject } from '../../core/json.ts'
import type { Ctx } from '../../domain/access/index.ts'
import type { Agent } from '../../domain/agents/index.ts'
import type { Generation, Thread, ThreadMessage } from '../../domain/generations/index.ts'
import type { ToolCall } from '../../domain/tool-calls/index.ts'
import { openCallsOf } from './open-calls.ts'

export const seconds = (date: Date | null) => (date ? Math.floor(date.getTime() / 1000) : null)

/** An object with its id. */
export type Shown = JsonObject & { id: string }

/** The agent. Its instructions and tools are for those who may read agents, in GraphQL. */
export function shownAssistant({ id, name, model, createdAt, temperature }: Agent): Shown {
  return {
    id,
    object: 'assistant',
    created_at: seconds(createdAt),
    name,
    description: null,
    model: model ?? '',
    instructions: null,
    tools: [],
    metadata: {},
    temperature,
    top_p: null,
    response_format: 'auto',
  }
}

export function shownThread({ id, createdAt }: Thread): Shown {
  return { id, object: 'thread', created_at: seconds(createdAt), metadata: {}, tool_resources: {} }
}

/** A message. Files are named by their ids. */
export function shownMessage(thread: Thread, message: ThreadMessage): Shown {
  const { id, role, content, attachments, generationId, createdAt } = message
  return messageShape({
    id,
    threadId: thread.id,
    createdAt,
    role: role === 'USER' ? 'user' : 'assistant',
    content: [
      ...(content ? [textPart(content)] : []),
      ...attachments.map(({ fileId }) => ({
        type: 'image_file',
        image_file: { file_id: fileId, detail: 'auto' },
      })),
    ],
    assistantId: role === 'ASSISTANT' && generationId ? thread.agentId : null,
    runId: role === 'ASSISTANT' ? generationId : null,
    status: 'completed',
  })
}

export function textPart(value: string): JsonObject {
  return { type: 'text', text: { value, annotations: [] } }
}

export interface MessageFacts {
  id: string
  threadId: string
  createdAt: Date
  role: 'user' | 'assistant'
  content: JsonObject[]
  assistantId: string | null
  runId: string | null
  status: 'in_progress' | 'incomplete' | 'completed'
}

export function messageShape(facts: MessageFacts): Shown {
  const at = seconds(facts.createdAt)
  return {
    id: facts.id,
    object: 'thread.message',
    created_at: at,
    thread_id: facts.threadId,
    role: facts.role,
    content: facts.content,
    assistant_id: facts.assistantId,
    run_id: facts.runId,
    status: facts.status,
    incomplete_details: facts.status === 'incomplete' ? { reason: 'run_failed' } : null,
    completed_at: facts.status === 'completed' ? at : null,
    incomplete_at: facts.status === 'incomplete' ? at : null,
    attachments: [],
    metadata: {},
  }
}

export async function shownRun(ctx: Ctx, run: Generation): Promise<Shown> {
  return (await shownRuns(ctx, [run]))[0]!
}

/**
 * The runs. A call that waits for a person leaves a run `in_progress`; only calls of the client make it `requires_action`.
 */
export async function shownRuns(ctx: Ctx, runs: readonly Generation[]): Promise<Shown[]> {
  const open = await openCallsOf(ctx, runs)
  return runs.map((run) =>
    runShape(
      run,
      open.flatMap(({ runId, call }) => (runId === run.id ? [call] : [])),
    ),
  )
}

function runShape(generation: Generation, calls: readonly ToolCall[]): Shown {
  const { id, threadId, agentId, createdAt, startedAt, finishedAt, deadlineAt, storedStatus } = generation
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
        ? {
            type: 'submit_tool_outputs',
            submit_tool_outputs: { tool_calls: calls.map((call) => functionCall(call, call.arguments)) },
          }
        : null,
    last_error: error ? { code: 'server_error', message: `${error.code}: ${error.message}` } : null,
    expires_at: finishedAt ? null : seconds(deadlineAt),
    started_at: seconds(startedAt),
    cancelled_at: endedAt('CANCELLED'),
    failed_at: endedAt('FAILED'),
    completed_at: endedAt('COMPLETED'),
    incomplete_details: isCut(generation) ? { reason: 'max_completion_tokens' } : null,
    model: generation.model?.name ?? settings.model ?? '',
    instructions: '',
    // Those of the request. Tools of the agent are for those who may read agents.
    tools: (settings.clientTools ?? []).map(({ name, description, inputSchema }) => ({
      type: 'function',
      function: { name, description, parameters: inputSchema, strict: false },
    })),
    tool_choice: 'auto',
    parallel_tool_calls: settings.parallelToolCalls,
    temperature: settings.temperature ?? null,
    top_p: null,
    max_completion_tokens: settings.maxOutputTokens ?? null,
    max_prompt_tokens: null,
    truncation_strategy: { type: 'auto', last_messages: null },
    response_format: 'auto',
    metadata: {},
    usage: finishedAt ? usageShape(inputTokens, outputTokens) : null,
  }
}

export function usageShape(input: number, output: number): JsonObject {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}

/** Whether the answer ended at its limit of length. */
function isCut({ storedStatus, stopReason, truncated }: Generation): boolean {
  return storedStatus === 'COMPLETED' && (truncated || stopReason === 'LENGTH')
}

function statusOf(run: Generation, asks: boolean): string {
  const { storedStatus, cancelRequestedAt } = run
  if (isCut(run)) return 'incomplete'
  if (storedStatus !== 'WAITING' && storedStatus !== 'RUNNING') return storedStatus.toLowerCase()
  if (cancelRequestedAt) return 'cancelling'
  return asks ? 'requires_action' : 'in_progress'
}

/** A call; `output` is left out where the API has none. */
export function functionCall(
  { id, runtimeName: name }: ToolCall,
  args: JsonObject | null,
  output?: string | null,
): JsonObject {
  const called = { name, arguments: JSON.stringify(args ?? {}) }
  return { id, type: 'function', function: output === undefined ? called : { ...called, output } }
}

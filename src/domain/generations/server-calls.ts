/** Runs the server calls of a step: committed before they are sent, recorded as each result arrives. */
import { nowPlus } from '../../store/db/database.ts'
import {
  codeOf,
  isIdempotent,
  loadVersion,
  prepareCall,
  runTool,
  unknownResult,
  type ToolCall,
  type ToolDefinition,
} from '../tools/index.ts'
import { errorResult, type ToolResult } from '../../core/content.ts'
import type { CallChange } from './commit.ts'
import { interrupted } from '../../store/work/worker.ts'
import { maxParallelCalls, write, type Turn } from './turn.ts'

/** A call that is due. `fresh`: this worker has just committed it as sent, so it has not left yet. */
interface Due {
  call: ToolCall
  definition: ToolDefinition
  fresh: boolean
}

/**
 * Runs these calls, at most eight at once (one by one when the agent says so). `fresh` says that this
 * worker has itself just committed what is EXECUTING. Else such a call was left behind by a worker that went away: an
 * idempotent one is sent again under the same key, any other becomes UNKNOWN and is never sent twice.
 */
export async function runServerCalls(step: Turn, calls: ToolCall[], fresh: boolean): Promise<void> {
  const due = await Promise.all(
    calls.map(async (call): Promise<Due> => ({
      call,
      definition: await loadVersion(step.house.db, call.toolId!, call.toolVersion!),
      fresh: fresh && call.status === 'EXECUTING',
    })),
  )
  const lost = due.filter((d) => d.call.status === 'EXECUTING' && !d.fresh && !isIdempotent(d.definition))
  for (const { call } of lost) await settle(step, call, unknownResult(), 'UNKNOWN')
  const waiting = due.filter((d) => !lost.includes(d))
  const lanes = Math.min(waiting.length, step.generation.settings.parallelToolCalls ? maxParallelCalls : 1)
  await Promise.all(Array.from({ length: lanes }, () => lane(step, waiting)))
}

async function lane(step: Turn, waiting: Due[]): Promise<void> {
  for (let due = waiting.shift(); due; due = waiting.shift()) {
    // A cancel leaves what was not sent unsent.
    if (step.signal.aborted && !due.fresh) return
    if (!due.fresh) await markStarted(step, due.call)
    const result = await run(step, due)
    // This process stops: the aborted call stays EXECUTING, and whoever takes the row sends it again.
    if (
      result.isError &&
      isIdempotent(due.definition) &&
      step.signal.aborted &&
      step.signal.reason !== interrupted
    )
      return
    await settle(step, due.call, result, result.isError ? 'ERRORED' : 'SUCCEEDED')
  }
}

async function markStarted(step: Turn, call: ToolCall): Promise<void> {
  call.attempt += 1
  await write(step, {
    wakeAt: nowPlus(step.house.limits.leaseMs),
    calls: [{ id: call.id, status: 'EXECUTING', starts: true }],
    events: [{ type: 'TOOL_CALL_STARTED', data: { ...dataOf(call), attempt: call.attempt } }],
  })
}

async function run(step: Turn, { call, definition }: Due): Promise<ToolResult> {
  const prepared = prepareCall(definition, call.arguments)
  if (!prepared.ok) return errorResult('invalid_arguments', 'The arguments no longer fit the tool.')
  return runTool(step.house, {
    projectId: call.projectId,
    definition,
    merged: prepared.merged,
    callId: call.id,
    // What may take effect is heard out even when the generation is cancelled: its outcome must be known.
    signal: isIdempotent(definition) ? step.signal : new AbortController().signal,
  })
}

async function settle(
  step: Turn,
  call: ToolCall,
  result: ToolResult,
  status: 'SUCCEEDED' | 'ERRORED' | 'UNKNOWN',
): Promise<void> {
  const change: CallChange = { id: call.id, status, result, errorCode: codeOf(result) }
  await write(step, {
    wakeAt: nowPlus(step.house.limits.leaseMs),
    calls: [change],
    events: [{ type: 'TOOL_CALL_SETTLED', data: { ...dataOf(call), status } }],
    audit: [
      {
        projectId: call.projectId,
        principalId: call.requestedBy,
        action: 'tools:Call',
        resource: `tool/${call.toolId ?? ''}`,
        outcome: 'EXECUTED',
        details: { toolCallId: call.id, status, attempt: call.attempt },
      },
    ],
  })
}

function dataOf(call: ToolCall) {
  return { toolCallId: call.id, name: call.runtimeName, stepIndex: call.stepIndex }
}

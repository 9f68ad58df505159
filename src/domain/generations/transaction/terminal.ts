/** What a commit writes when a generation ends with open calls. Pure. */
import { jsonb } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { errorResult, textResult, type ToolResult } from '../../../core/content.ts'
import { isJsonObject, type Json, writeJson } from '../../../core/json.ts'
import { shortText } from '../../../core/text.ts'
import { voidPending, voidEvent } from '../../approvals/index.ts'
import {
  generationCancelled,
  generationCompleted,
  generationExpired,
  generationFailed,
  type GenerationEvent,
} from '../../events/index.ts'
import { unknownResult } from '../../tools/index.ts'
import {
  callSettled,
  callUnknown,
  inGeneration,
  isOpen,
  settleCalls,
  type ToolCall,
} from '../../tool-calls/index.ts'
import type { RunEnd } from '../nesting/notify-parent.ts'
import type { Change } from './commit.ts'
import type { FailureCode, StopReason } from '../generation.ts'

/**
 * Settles every open call with a result that says why, voids open approvals and appends the closing event. A call
 * that was not sent is CANCELLED; one that was sent and has no outcome is UNKNOWN.
 */
function closeOpenCalls(
  calls: ToolCall[],
  code: string,
  message: string,
  closingEvent: GenerationEvent,
): { calls: SQL[]; events: GenerationEvent[]; also: SQL[] } {
  const open = calls.filter(isOpen)
  const asked = open.filter((call) => call.status === 'AWAITING_APPROVAL')
  const wasSent = (call: ToolCall) => call.status === 'EXECUTING' && !call.childId
  const [sent, unsent] = [open.filter(wasSent), open.filter((call) => !wasSent(call))]
  const result = errorResult(code, message)
  const cancelled = unsent.map(({ id }) => ({ id, status: 'CANCELLED' as const, result }))
  const unknown = sent.map(({ id }) => ({ id, status: 'UNKNOWN' as const, result: unknownResult() }))
  return {
    calls: [
      ...(cancelled.length > 0 ? [settleCalls('close', cancelled, inGeneration)] : []),
      ...(unknown.length > 0 ? [settleCalls('closeSent', unknown, inGeneration)] : []),
    ],
    also: asked.length > 0 ? [voidPending()] : [],
    events: [
      ...asked.map((call) => voidEvent(call, 'GENERATION_ENDED')),
      ...open.flatMap((call) =>
        wasSent(call) ? callUnknown(call, 'GENERATION_ENDED') : [callSettled(call, 'CANCELLED')],
      ),
      closingEvent,
    ],
  }
}

/** What a commit writes to cancel a generation with these open calls. */
export function cancelChange(calls: ToolCall[]): Change {
  return {
    set: [sql`status = 'CANCELLED'`, sql`finished_at = now()`],
    wakeAt: null,
    release: true,
    ...closeOpenCalls(calls, 'cancelled', 'The generation was cancelled.', generationCancelled({})),
    ends: {
      status: 'CANCELLED',
      result: errorResult('agent_cancelled', 'The run of the agent was cancelled.'),
    },
  }
}

/** What a commit writes when the generation's deadline has passed. */
export function expiry(calls: ToolCall[]): Change {
  return {
    set: [sql`status = 'EXPIRED'`, sql`finished_at = now()`],
    wakeAt: null,
    release: true,
    ...closeOpenCalls(
      calls,
      'expired',
      'The generation expired before this call was answered.',
      generationExpired({}),
    ),
    ends: {
      status: 'EXPIRED',
      result: errorResult('agent_expired', 'The time of the run of the agent was over.'),
    },
  }
}

/** The part of a change that ends a generation. */
interface Terminal {
  set: SQL[]
  wakeAt: null
  release: true
  events: GenerationEvent[]
  calls?: SQL[]
  also?: SQL[]
  ends: RunEnd
}

/** What a commit writes to complete a generation. */
export function completion(end: {
  stopReason: StopReason
  truncated: boolean
  text: string | null
  object: Json | null
}): Terminal {
  const object = end.object === null ? sql`null::jsonb` : sql`${jsonb(end.object)}`
  return {
    set: [
      sql`status = 'COMPLETED'`,
      sql`finished_at = now()`,
      sql`stop_reason = ${end.stopReason}`,
      sql`truncated = ${end.truncated}::boolean`,
      sql`output_text = ${end.text}::text`,
      sql`output_object = ${object}`,
      sql`next_step = null`,
    ],
    wakeAt: null,
    release: true,
    events: [generationCompleted({ stopReason: end.stopReason })],
    ends: { status: 'COMPLETED', result: answerOf(end) },
  }
}

/** The final answer as the result of the parent's call: the text, and the object of an output schema. */
function answerOf({
  text,
  object,
  stopReason,
}: {
  text: string | null
  object: Json | null
  stopReason: string
}): ToolResult {
  const said =
    text ?? (object === null ? `The agent ended without a text (${stopReason}).` : writeJson(object))
  return { ...textResult(said), ...(isJsonObject(object) ? { structuredContent: object } : {}) }
}

/** What a commit writes to fail a generation, with the calls that may still be open. */
export function failure(code: FailureCode, why: string, calls: ToolCall[] = []): Terminal {
  const message = shortText(why, 2000)
  const closing = closeOpenCalls(
    calls,
    'failed',
    'The generation failed before this call was answered.',
    generationFailed({ code }),
  )
  return {
    ...closing,
    set: [
      sql`status = 'FAILED'`,
      sql`finished_at = now()`,
      sql`error_code = ${code}`,
      sql`error_message = ${message}`,
    ],
    wakeAt: null,
    release: true,
    ends: { status: 'FAILED', result: errorResult(code.toLowerCase(), message) },
  }
}

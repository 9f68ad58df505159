/** What a commit writes when a generation ends with questions still open. Pure. */
import { sql, type SQL } from 'drizzle-orm'
import { jsonb } from '../../store/db/database.ts'
import { errorResult } from '../../core/content.ts'
import type { Json } from '../../core/json.ts'
import type { NewEvent } from '../../store/events/log.ts'
import { isOpen, type ToolCall } from '../tools/index.ts'
import type { CallChange, Change } from './commit.ts'
import type { FailureCode } from './generation.ts'

/** Settles every open call as CANCELLED with a result that says why, and appends the closing event. */
export function closeOpenCalls(
  calls: ToolCall[],
  code: string,
  message: string,
  closingEvent: 'GENERATION_CANCELLED' | 'GENERATION_EXPIRED',
): { calls: CallChange[]; events: NewEvent[] } {
  const open = calls.filter((call) => isOpen(call.status))
  const result = errorResult(code, message)
  return {
    calls: open.map((call) => ({ id: call.id, status: 'CANCELLED', result, errorCode: code })),
    events: [
      ...open.map((call) => ({
        type: 'TOOL_CALL_SETTLED',
        data: { toolCallId: call.id, name: call.runtimeName, stepIndex: call.stepIndex, status: 'CANCELLED' },
      })),
      { type: closingEvent, data: {} },
    ],
  }
}

/** What a commit writes to cancel a generation with these calls. */
export function cancelChange(calls: ToolCall[]): Change {
  return {
    set: [sql`status = 'CANCELLED'`, sql`finished_at = now()`],
    wakeAt: null,
    release: true,
    ...closeOpenCalls(calls, 'cancelled', 'The generation was cancelled.', 'GENERATION_CANCELLED'),
  }
}

/** What a commit writes when the generation's time is over. */
export function expiry(calls: ToolCall[]): Change {
  return {
    set: [sql`status = 'EXPIRED'`, sql`finished_at = now()`],
    wakeAt: null,
    release: true,
    ...closeOpenCalls(
      calls,
      'expired',
      'The generation expired before this call was answered.',
      'GENERATION_EXPIRED',
    ),
  }
}

/** The part of a change that ends a generation. */
interface Terminal {
  set: SQL[]
  wakeAt: null
  release: true
  events: NewEvent[]
}

/** What a commit writes to complete a generation. */
export function completed(end: {
  stopReason: string
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
    events: [{ type: 'GENERATION_COMPLETED', data: { stopReason: end.stopReason } }],
  }
}

/** What a commit writes to fail a generation. */
export function failed(code: FailureCode, message: string): Terminal {
  return {
    set: [
      sql`status = 'FAILED'`,
      sql`finished_at = now()`,
      sql`error_code = ${code}`,
      sql`error_message = ${message.slice(0, 2000)}`,
    ],
    wakeAt: null,
    release: true,
    events: [{ type: 'GENERATION_FAILED', data: { code } }],
  }
}

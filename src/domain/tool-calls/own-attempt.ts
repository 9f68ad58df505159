/** Whose attempt it is: numbers alone do not tell, because two workers may try to begin the same one. */
import { randomUUID } from 'node:crypto'
import type { Moment } from '../../core/stopwatch.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import type { ToolCall, ToolCallAttempt } from './tool-call.ts'

/** An attempt that this process has begun, or has tried to begin. */
export interface OwnAttempt {
  /** The call's id. */
  id: string
  /** Counts from 1. */
  attempt: number
  /** Chosen at random for this attempt: a failover may lose an attempt, and its number is used again. Null when the call was inserted with it: nobody else can begin that one. */
  token: string | null
}

/** An attempt that this process has begun and has not sent, and when the statement was sent that began it. */
export type UnsentAttempt = OwnAttempt & { begunAt: Moment }

/** The call as `startCall` leaves it, with one more attempt; its token is new. `now`: in milliseconds since 1970. */
export function withAttempt(call: ToolCall, now: number): ToolCall {
  const attempt = call.attempt + 1
  const startedAt = new Date(now).toISOString()
  const begun = { attempt, token: randomUUID(), idempotencyKey: call.id, startedAt }
  return { ...call, status: 'EXECUTING', attempt, attempts: [...call.attempts, begun] }
}

type Attempted = Pick<ToolCall, 'id' | 'attempt'> & { attempts: readonly Pick<ToolCallAttempt, 'token'>[] }

/** The newest attempt of the call, which this process holds. */
export function newestAttempt({ id, attempt, attempts }: Attempted): OwnAttempt {
  return { id, attempt, token: attempts.at(-1)?.token ?? null }
}

/** Whether this is still the newest attempt of the call. An attempt that was never committed never is. */
export function isNewest(own: OwnAttempt | undefined, call: Attempted): boolean {
  return own?.attempt === call.attempt && own.token === newestAttempt(call).token
}

/** The same as a condition on the row `t`. */
export function provesNewest({ attempt, token }: OwnAttempt): SQL {
  return sql`t.attempt = ${attempt}::int and t.attempts->-1->>'token' is not distinct from ${token}::text`
}

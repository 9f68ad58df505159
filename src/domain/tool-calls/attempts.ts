/** The attempts of a call: written when it is sent and when its outcome is known, and whose each is. */
import { sql, type SQL } from '../../store/db/sql.ts'
import { randomUUID } from 'node:crypto'
import type { Moment } from '../../core/time.ts'
import type { ToolCall, ToolCallAttempt } from './tool-call.ts'

/** An attempt that starts now, as JSON. Its Idempotency-Key is the call's id, the same for each attempt. */
export function newAttempt(number: SQL, callId: SQL): SQL {
  return sql`jsonb_build_object('attempt', ${number}, 'idempotencyKey', ${callId}, 'startedAt', now())`
}

/** `attempts` with one more, which starts now; with the token of the process that begins it, or one of its own. */
export function attemptBegins(token?: string): SQL {
  const attempt = newAttempt(sql`t.attempt + 1`, sql`t.id`)
  const chosen = token === undefined ? sql`gen_random_uuid()` : sql`${token}::text`
  return sql`t.attempts || jsonb_build_array(${attempt} || jsonb_build_object('token', ${chosen}))`
}

/** `attempts` with the newest one ended; unchanged when the call was never sent. */
export function attemptEnds(status: SQL, errorCode: SQL): SQL {
  return sql`case
    when jsonb_array_length(t.attempts) = 0 or t.attempts->-1 ? 'endedAt' then t.attempts
    else ${attemptEndsLate(status, errorCode)} end`
}

/** `attempts` with a corrected outcome of the newest one. */
export function attemptEndsLate(status: SQL, errorCode: SQL): SQL {
  const end = sql`jsonb_build_object('endedAt', now(), 'outcome', ${status}, 'errorCode', ${errorCode})`
  return sql`(t.attempts - -1) || jsonb_build_array((t.attempts->-1) || ${end})`
}

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

/** The attempts of a call, as SQL over its row `t`: written when the call is sent and when its outcome is known. */
import { sql, type SQL } from '../../store/db/sql.ts'

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

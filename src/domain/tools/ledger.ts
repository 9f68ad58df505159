/** The ledger of a call: what is written to its row when it is sent and when its outcome is known. */
import { sql, type SQL } from 'drizzle-orm'

/** An attempt that begins now, as JSON. The key is the call's id, the same each time. */
export function newAttempt(number: SQL, callId: SQL): SQL {
  return sql`jsonb_build_object('attempt', ${number}, 'idempotencyKey', ${callId}, 'startedAt', now())`
}

/** The column `attempts` with one more attempt, which begins now. */
export function attemptBegins(callId: SQL): SQL {
  return sql`attempts || jsonb_build_array(${newAttempt(sql`attempt + 1`, callId)})`
}

/** The column `attempts` with its newest one ended; as it is when the call was never sent. */
export function attemptEnds(status: SQL, errorCode: SQL): SQL {
  return sql`case when jsonb_array_length(attempts) = 0 or attempts->-1 ? 'endedAt' then attempts
    else (attempts - -1) || jsonb_build_array((attempts->-1) || jsonb_build_object(
      'endedAt', now(), 'outcome', ${status}, 'errorCode', ${errorCode})) end`
}

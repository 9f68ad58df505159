/** What of the whole installation waits for people: numbers without ids, for metrics. */
import { query, type Database } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'

export interface Attention {
  /** Calls of unknown outcome that nobody has resolved. */
  unknown: number
  /** Questions that wait for a verdict. */
  pending: number
  /** Of these, those that expire within a minute. */
  ending: number
  /** Upstreams that do not answer, answer badly, or need a login. */
  faulty: number
}

/** Nothing is counted further. */
const most = 10_000

/** Counts over indexes of open work. Checks no permission. */
export async function countAttention(db: Database): Promise<Attention> {
  const upTo = (rows: SQL) => sql`(select count(*)::int from (${rows} limit ${most}::int) as x)`
  const [counts] = await query<Attention>(
    db,
    sql`select
      ${upTo(sql`select 1 from tool_calls where status = 'UNKNOWN' and resolution is null`)} as unknown,
      ${upTo(sql`select 1 from approvals where status = 'PENDING'`)} as pending,
      ${upTo(sql`select 1 from approvals
        where wake_at < now() + interval '1 minute' and status = 'PENDING'
          and expires_at < now() + interval '1 minute'`)} as ending,
      ${upTo(sql`select 1 from upstreams
        where status in ('DEGRADED', 'UNREACHABLE', 'AUTHORIZATION_REQUIRED')`)} as faulty`,
  )
  return counts!
}

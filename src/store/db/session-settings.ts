/**
 * Settings of a database session that change what Gatehouse reads or decides. A server, a database or a role may have others:
 * every connection sets them, and a start proves them.
 */
import { query, type Database } from './database.ts'
import { sql } from './sql.ts'
import { UnusableDatabaseError } from './storage-error.ts'

/** https://www.postgresql.org/docs/current/runtime-config-client.html */
const settings: Readonly<Record<string, string>> = {
  // What texts and values look like.
  client_encoding: 'UTF8',
  datestyle: 'ISO, MDY',
  intervalstyle: 'postgres',
  timezone: 'UTC',
  extra_float_digits: '1',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  // What statements mean. A policy of row security that would hide rows is an error instead.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  transform_null_equals: 'off',
  array_nulls: 'on',
  row_security: 'off',
  gin_fuzzy_search_limit: '0',
  // An error that is expected, as that of a lock that is held, would end the connection.
  exit_on_error: 'off',
  // Costs are guesses where statistics are missing: compiling a short statement may take hundreds of times as long as running it.
  jit: 'off',
  plan_cache_mode: 'auto',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
}
/** Those that only newer servers have. */
const newer: Readonly<Record<string, string>> = { idle_session_timeout: '0', transaction_timeout: '0' }

/** The select list that sets them for the session, with others instead or besides. Names and values are ours. */
export function sessionSettings(own: Readonly<Record<string, string>> = {}): string {
  const set = (name: string, value: string) => `set_config('${name}', '${value}', false)`
  return [
    ...Object.entries({ ...settings, ...own }).map(([name, value]) => set(name, value)),
    ...Object.entries(newer).map(
      ([name, value]) =>
        `case when current_setting('${name}', true) is not null then ${set(name, value)} end`,
    ),
    // What was acknowledged is never lost: a call that has run would run again.
    `case when current_setting('synchronous_commit') = 'off' then ${set('synchronous_commit', 'on')} end`,
  ].join(', ')
}

/** Values of which each would be read as another one under some setting. */
const known = sql`select
  (timestamptz '2001-02-03 04:05:06.789+00')::text as moment,
  '03/04/2001'::date::text as day,
  (0.1::float8 + 0.2::float8)::text as fraction,
  (interval '1 day' + interval '-2 hours')::text as span,
  ('\\x00ff'::bytea)::text as bytes,
  'a\\b' as text,
  null = null is null as unknown,
  ('{null}'::text[])[1] is null as element,
  current_setting('transaction_isolation') as isolation,
  current_setting('server_encoding') as encoding`

const expected = {
  moment: '2001-02-03 04:05:06.789+00',
  day: '2001-03-04',
  fraction: '0.30000000000000004',
  span: '1 day -02:00:00',
  bytes: String.raw`\x00ff`,
  text: String.raw`a\b`,
  unknown: true,
  element: true,
  isolation: 'read committed',
}

/**
 * Reads values that are known and compares them. Throws UnusableDatabaseError when one differs, or when the encoding of the
 * database cannot hold every text.
 */
export async function proveSession(db: Database): Promise<void> {
  const [row] = await query<Record<string, unknown>>(db, known)
  if (row!['encoding'] !== 'UTF8')
    throw new UnusableDatabaseError(
      `The database has the encoding ${String(row!['encoding'])}, which cannot hold every text. ` +
        `Create it with ENCODING 'UTF8' (and TEMPLATE template0).`,
    )
  const wrong = Object.entries(expected).filter(([name, value]) => row![name] !== value)
  if (wrong.length > 0)
    throw new UnusableDatabaseError(
      `The database gives other values than were asked for (${wrong.map(([name]) => name).join(', ')}): a setting of the ` +
        'server, the database or a pooler changes what is read.',
    )
}

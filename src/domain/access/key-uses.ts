/**
 * When keys were last used, to within about a minute. A request notes its key in memory; a timer writes what was noted,
 * many keys in one statement, into a table of its own: rows of keys are locked by whoever acts with them.
 */
import { BoundedMap } from '../../core/bounded-map.ts'
import { jsonb, query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import type { Services } from './context.ts'
import type { Principal } from './principal.ts'
import { isSubject } from './subjects.ts'

/** A use is noted once in this time for each key, in milliseconds; also across replicas. */
const everyMs = 60_000
/** Keys that are remembered as noted. */
const mostKeys = 10_000

export interface KeyUses {
  /** Notes that a request came with this key. Never waits and never throws. */
  note(principal: Pick<Principal, 'id'>): void
  /** Writes what was noted, and stops. */
  close(): Promise<void>
}

/** `flushMs`: the time between the first note and the statement that writes it. */
export function createKeyUses(services: Pick<Services, 'db' | 'clock' | 'log'>, flushMs = 10_000): KeyUses {
  const noted = new BoundedMap<string, number>(mostKeys)
  const waiting = new Map<string, number>()
  let timer: NodeJS.Timeout | null = null
  const flush = async () => {
    timer = null
    const uses = [...waiting].map(([id, at]) => ({ id, at }))
    waiting.clear()
    await writeUses(services.db, uses).catch((error: unknown) =>
      services.log.warn({ err: error }, 'the last uses of keys could not be written; later uses will be'),
    )
  }
  return {
    note({ id }) {
      const now = services.clock.now()
      const before = noted.get(id)
      if ((before !== undefined && now - before < everyMs) || isSubject(id)) return
      noted.set(id, now)
      waiting.set(id, now)
      timer ??= setTimeout(() => void flush(), flushMs).unref()
    },
    async close() {
      if (timer) clearTimeout(timer)
      if (waiting.size > 0) await flush()
    },
  }
}

async function writeUses(db: Database, uses: readonly { id: string; at: number }[]): Promise<void> {
  if (uses.length === 0) return
  await query(
    db,
    // Sorted, so that two replicas that write the same keys do not wait for each other in a circle.
    sql`insert into key_uses as u (key_id, used_at)
      select x.id, to_timestamp(x.at / 1000)
      from jsonb_to_recordset(${jsonb(uses)}) as x(id text, at float8)
      join api_keys as k on k.id = x.id
      order by x.id
      on conflict (key_id) do update set used_at = excluded.used_at
      where u.used_at <= excluded.used_at - ${everyMs}::float8 * interval '1 millisecond'`,
  )
}

/** When each of these keys was last used; keys that never were are missing. Checks no permission. */
export async function loadKeyUses(db: Database, ids: readonly string[]): Promise<Map<string, Date>> {
  if (ids.length === 0) return new Map()
  const rows = await query<{ id: string; at: number }>(
    db,
    sql`select key_id as id, (extract(epoch from used_at) * 1000)::float8 as at
      from key_uses where key_id in ${[...ids]}`,
  )
  return new Map(rows.map(({ id, at }) => [id, new Date(at)]))
}

/** Upkeep of the rows of triggers: a new master key, and starts that are long over. */
import { eq } from 'drizzle-orm'
import { query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { triggers } from '../../store/db/tables/triggers.ts'
import { openSecret, sealSecret } from '../followers/index.ts'

/** Encrypts every signing secret with another master key, in the caller's transaction. Returns the number of hooks. */
export async function resealTriggers(tx: Database, from: Buffer, to: Buffer): Promise<number> {
  const rows = await tx
    .select()
    .from(triggers)
    .where(sql`kind = 'HOOK'`)
    .for('update')
  for (const { id, secret, previousSecret } of rows) {
    const again = (sealed: string | null) => sealed && sealSecret(to, id, openSecret(from, id, sealed))
    await tx
      .update(triggers)
      .set({ secret: again(secret), previousSecret: again(previousSecret) })
      .where(eq(triggers.id, id))
  }
  return rows.length
}

/**
 * Forgets, some at a time, what started runs a week ago: an old message is refused by its time stamp. What started a run that
 * has not ended is kept, for the next tick asks.
 */
export async function forgetOldStarts(db: Database): Promise<void> {
  await query(
    db,
    sql`delete from trigger_starts
      where ctid = any(array(
        select ctid
        from trigger_starts
        where at < now() - interval '7 days'
          and not exists (select 1 from generations as g where g.id = generation_id and g.finished_at is null)
        order by at
        limit 1000
      ))`,
  )
}

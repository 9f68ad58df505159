/**
 * Places of conversations: a hash of what the client sends, such as all messages up to a place or the id of a chat, names the
 * run that is there. A caller finds only its own, and a program those of the person for whom it acts.
 */
import { jsonb, query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { conversationPlaces } from '../../store/db/tables/generations.ts'
import { insertSelect, recordset, rowsOf } from '../../store/db/rows.ts'
import { askerOf, type Ctx } from '../access/index.ts'

export interface ConversationPlace {
  /** Of what the client sends: the protocol says of what. */
  hash: string
  generationId: string
  /** The number of the event of the run after which what follows begins. */
  after: number
  /** Milliseconds since the caller was told how the run went on from here; null while that is owed. */
  toldMs: number | null
}

/** The places of the caller in the project that have one of the hashes, in no order. Checks no permission. */
export async function findPlaces(
  ctx: Ctx,
  projectId: string,
  hashes: readonly string[],
): Promise<ConversationPlace[]> {
  const given = rowsOf(jsonb(hashes.map((hash) => ({ hash }))), hashes.length, 'x(hash text)')
  return query<ConversationPlace>(
    ctx.db,
    sql`select p.*
      from ${given} cross join lateral (
        select hash, generation_id as "generationId", after,
          (extract(epoch from now() - told_at) * 1000)::float8 as "toldMs"
        from conversation_places
        where project_id = ${projectId} and principal_id = ${askerOf(ctx.principal)} and hash = x.hash
        offset 0
      ) as p`,
  )
}

/**
 * Notes where the caller's conversation stands: the newest run of a place counts. Call it before the caller has the whole answer,
 * so that its next request finds the places. Hashes are different.
 */
export async function notePlaces(
  ctx: Ctx,
  projectId: string,
  { isTold, places }: { isTold: boolean; places: Omit<ConversationPlace, 'toldMs'>[] },
): Promise<void> {
  const rows = recordset(conversationPlaces, places)
  await query(
    ctx.db,
    sql`${insertSelect(
      conversationPlaces,
      {
        projectId,
        principalId: askerOf(ctx.principal),
        hash: sql`x.hash`,
        generationId: sql`x.generation_id`,
        after: sql`x.after`,
        toldAt: isTold ? sql`now()` : null,
      },
      sql`${rows} where exists (select 1 from generations as g where g.id = x.generation_id)`,
    )}
      on conflict (project_id, principal_id, hash) do update set
        generation_id = excluded.generation_id,
        after = excluded.after,
        told_at = excluded.told_at`,
  )
}

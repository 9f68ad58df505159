/** Removes files that nothing names any more. Their bytes go after the commit, see `deleteBlobs`. */
import { writeJson } from '../../core/json.ts'
import { jsonb, query, type Database } from '../../store/db/database.ts'
import { isHeld, namersOfFile } from '../../store/db/held.ts'
import { sql } from '../../store/db/sql.ts'
import { rowsOf } from '../../store/db/rows.ts'
import type { Blobs } from '../../store/blobs/blobs.ts'
import { appendProjectEvents, fileDeleted, withRequester } from '../events/index.ts'
import { blobKeysOf } from '../files/index.ts'

/** The files that these runs name: in messages, in the messages of their threads, and as attachments of calls. */
export async function filesNamedIn(tx: Database, generationIds: readonly string[]): Promise<string[]> {
  const each = rowsOf(jsonb(generationIds.map((id) => ({ id }))), generationIds.length, 'x(id text)')
  const rows = await query<{ id: string }>(
    tx,
    sql`select distinct named.id #>> '{}' as id
      from ${each}
      cross join lateral (
        select jsonb_path_query(g.input, '$.**.fileId') as id from generations as g where g.id = x.id
        union all
        select jsonb_path_query(c.attachments, '$.**.fileId') from tool_calls as c where c.generation_id = x.id
        union all
        select jsonb_path_query(t.messages, '$.**.fileId')
        from threads as t
        where t.id = (select thread_id from generations as g where g.id = x.id)
      ) as named`,
  )
  return rows.map(({ id }) => id)
}

/** A request that has just referred to a file has this time to name it in a row. */
const grace = sql.raw(`interval '1 hour'`)

/** A condition on a file `f`: no hold keeps it and no row names it. */
export const isLeft = sql`not ${isHeld(sql`f.project_id`, sql`f.created_by`)} and not exists (${namersOfFile})`

/** A condition on a file `f`: it may go. */
export const isUnused = sql`coalesce(f.used_at < now() - ${grace}, true) and f.upload_until < now() and ${isLeft}`

interface Gone {
  id: string
  filename: string
  createdBy: string
  sha256: string | null
  blobKey: string | null
}

/**
 * Removes those of the files that nothing names, with an event each, without their names where somebody is erased. Returns how
 * many.
 */
export async function deleteFiles(
  tx: Database,
  projectId: string,
  ids: readonly string[],
  isErasure: boolean,
): Promise<number> {
  if (ids.length === 0) return 0
  const gone = await query<Gone>(
    tx,
    sql`with unused as (
        select f.id
        from files as f
        where f.id in ${[...ids]} and f.project_id = ${projectId} and ${isUnused}
        order by f.id
        for update skip locked
      )
      delete from files as f
      using unused
      where f.id = unused.id
      returning f.id, f.filename, f.created_by as "createdBy", f.sha256, f.blob_key as "blobKey"`,
  )
  const keys = gone.flatMap(blobKeysOf)
  if (keys.length === 0) return 0
  await query(
    tx,
    sql`insert into removed_blobs (key, project_id)
      select x.key, ${projectId}::text
      from jsonb_array_elements_text(${writeJson(keys)}::text::jsonb) as x(key)
      on conflict (key) do nothing`,
  )
  const events = gone.flatMap(({ id, filename, createdBy }) =>
    withRequester(createdBy, [fileDeleted({ fileId: id, name: isErasure ? id : filename })]),
  )
  await appendProjectEvents(tx, projectId, events)
  return gone.length
}

/**
 * Deletes the bytes of files that were removed, at most `limit`. A process that was lost between leaves the keys for the next
 * sweep. Returns how many are gone.
 */
export async function deleteBlobs(
  { db, blobs }: { db: Database; blobs: Blobs },
  projectId: string,
  limit: number,
): Promise<number> {
  const rows = await query<{ key: string }>(
    db,
    sql`select key from removed_blobs where project_id = ${projectId} order by key limit ${limit}`,
  )
  if (rows.length === 0) return 0
  const keys = rows.map(({ key }) => key)
  for (const key of keys) await blobs.remove(key)
  await query(db, sql`delete from removed_blobs where key in ${keys} and project_id = ${projectId}`)
  return rows.length
}

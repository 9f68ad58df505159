/** Rows of files, and the blob keys of their bytes. */
import { query, type Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { files } from '../../store/db/tables/files.ts'
import type { StoredFile } from './file.ts'

/** The key on the disk. It contains the hash of the bytes, so that another upload never replaces them. */
export function blobKey(id: string, sha256: string): string {
  return `${id}_${sha256.slice(0, 32)}`
}

/** Files by id, in any order. Checks no permission. */
export async function loadFiles(db: Database, ids: readonly string[]): Promise<StoredFile[]> {
  if (ids.length === 0) return []
  return (await selectRows(db, files, sql`where id in ${[...ids]}`)) as StoredFile[]
}

/**
 * The keys under which the bytes of a file may be: in the bucket, and on the disk, where earlier releases stored them under the id
 * alone.
 */
export function blobKeysOf({
  id,
  sha256,
  blobKey: bucketKey,
}: Pick<StoredFile, 'id' | 'sha256' | 'blobKey'>): string[] {
  return [...(bucketKey === null ? [] : [bucketKey]), ...(sha256 === null ? [] : [blobKey(id, sha256)]), id]
}

/** Notes that a request refers to these files of the project, which keeps them from being removed before it names them in a row. */
export async function noteUsed(db: Database, projectId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await query(
    db,
    sql`update files set used_at = now()
      where id in ${[...ids]} and project_id = ${projectId} and created_at < now() - interval '1 hour'
        and coalesce(used_at < now() - interval '30 minutes', true)`,
  )
}

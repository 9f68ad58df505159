/** Files as they are stored: their rows, and the keys of their bytes. */
import { sql } from 'drizzle-orm'
import type { Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { files } from '../../store/db/tables/files.ts'
import type { StoredFile } from './file.ts'

/** Bytes that were brought for a file have their hash in their key, so that no others come in their place. */
export function blobKey(id: string, sha256: string): string {
  return `${id}_${sha256.slice(0, 32)}`
}

/** Files by id, in no order. Checks nothing. */
export async function loadFiles(db: Database, ids: readonly string[]): Promise<StoredFile[]> {
  if (ids.length === 0) return []
  return (await selectRows(db, files, sql`where id in ${[...ids]}`)) as StoredFile[]
}

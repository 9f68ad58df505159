/** Whose things they are: a key, a person, or whoever has started a run. */
import { notFound } from '../../core/errors.ts'
import { query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'

/** Throws NOT_FOUND unless the principal is of the project or has started something there. */
export async function assertRequester(db: Database, projectId: string, id: string): Promise<void> {
  const rows = await query(
    db,
    sql`select 1 from api_keys where id = ${id} and project_id = ${projectId}
      union all select 1 from subjects where id = ${id} and project_id = ${projectId}
      union all (select 1 from generations where requested_by = ${id} and project_id = ${projectId} limit 1)`,
  )
  if (rows.length === 0) throw notFound('requester', id)
}

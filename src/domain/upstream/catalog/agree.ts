/** A person agrees to what a server says of its tool now: from then on it counts. */
import { readJson, writeJson } from '../../../core/json.ts'
import { query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { catalogHash, type Catalog } from './catalog.ts'
import { heldChanges } from './held.ts'

/** What was agreed to; null: the tool is not listed; `MOVED`: the server says something else than the person has read. */
export type Agreement = { changes: string[] } | 'MOVED' | null

/**
 * Lets everything count that the server says of the tool with this name, when its hash is that of what the person has read,
 * in the caller's transaction. A refresh that is under way is done again. Idempotent: without held changes it writes nothing.
 */
export async function agreeToChange(
  tx: Database,
  id: string,
  name: string,
  hash: string,
): Promise<Agreement> {
  const [row] = await query<{ catalog: string | null }>(
    tx,
    sql`select catalog from upstreams where id = ${id} for update`,
  )
  if (!row?.catalog) return null
  const { hash: _hash, ...catalog } = readJson(row.catalog) as Catalog
  const tool = catalog.tools.find((one) => one.name === name)
  if (!tool) return null
  const changes = heldChanges(tool)
  if (changes.length === 0) return { changes }
  if (tool.hash !== hash) return 'MOVED'
  const tools = catalog.tools.map((one) => {
    if (one.name !== name) return one
    const { held: _held, ...now } = one
    return now
  })
  const content = { ...catalog, tools }
  const newHash = catalogHash(content)
  await query(
    tx,
    sql`update upstreams
      set catalog = ${writeJson({ hash: newHash, ...content })}, catalog_hash = ${newHash}, epoch = epoch + 1, wake_at = now()
      where id = ${id}`,
  )
  return { changes }
}

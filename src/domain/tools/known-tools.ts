/**
 * Tools that this process has read, by id and version. A version never changes, so an entry is never out of date: which
 * version a tool has now comes from the database, as a value of a statement that is needed anyway.
 */
import type { Database } from '../../store/db/database.ts'
import { memoryOf } from '../../store/db/memory.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { loadTools } from './registry.ts'
import type { Tool } from './tool.ts'

/** The present version of each tool that exists, by id. */
export type ToolVersions = Readonly<Record<string, number>>

/** The present versions of the tools with these ids, as a JSON value of a larger statement, in its snapshot. */
export function toolVersionsOf(ids: SQL): SQL {
  return sql`(
    select coalesce(json_object_agg(tools.id, tools.version), '{}'::json)
    from tools
    where tools.id in (${ids})
  )`
}

const toolsOf = memoryOf<Tool>(2000)

/** The tool in this version, when this process has read it. */
export function knownTool(db: Database, id: string, version: number | undefined): Tool | undefined {
  return toolsOf(db).get(`${id}@${version}`)
}

export function rememberTool(db: Database, tool: Tool): void {
  toolsOf(db).set(`${tool.id}@${tool.version}`, tool)
}

/**
 * The tools with these ids, in their order; those without a version do not exist. At most one statement, and none when
 * all are known. A tool that changes at the same moment may come in its newer version. Checks no permission.
 */
export async function loadToolsAt(
  db: Database,
  ids: readonly string[],
  versions: ToolVersions,
): Promise<Tool[]> {
  const found = new Map<string, Tool>()
  for (const id of ids) {
    const tool = knownTool(db, id, versions[id])
    if (tool) found.set(id, tool)
  }
  const missing = ids.filter((id) => versions[id] !== undefined && !found.has(id))
  for (const tool of await loadTools(db, missing)) {
    found.set(tool.id, tool)
    rememberTool(db, tool)
  }
  return ids.flatMap((id) => found.get(id) ?? [])
}

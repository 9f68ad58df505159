/**
 * Tools that this process has read, by id and version. A version never changes, so an entry is never out of date:
 * which version a tool has now is proved before it is used.
 */
import type { Database } from '../../store/db/database.ts'
import { memoryOf, type Basis } from '../basis/index.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { loadTools, findTool } from './registry.ts'
import type { Tool } from './callable.ts'
import { reachable, type Ctx } from '../access/index.ts'
import { loadCatalogs, type Catalog } from '../upstream/index.ts'
import { loadToolCatalogs } from './callables.ts'

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
function knownTool(db: Database, id: string, version: number | undefined): Tool | undefined {
  return toolsOf(db).get(`${id}@${version}`)
}

function rememberTool(db: Database, tool: Tool): void {
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

/** Tools as this process has read them before. One may have been changed since: its basis is proved before it is used. */
export interface RecalledTool {
  tool: Tool
  /** The catalog of an mcp tool, by the tool's id; else empty. */
  catalogs: ReadonlyMap<string, Catalog>
  /** For a remembered tool: what the statement that relies on it must prove. Null: it was just read. */
  basis: Basis | null
}

/** The version and catalog in which each tool was last read. */
const newestOf = memoryOf<{ version: number; catalogHash: string | null }>(2000)

/**
 * The tool as this process has read it before, usually without a statement; else as `readTool` reads it. NOT_FOUND when it
 * does not exist for the caller. Checks no permission.
 */
export async function recallTool(ctx: Ctx, id: string): Promise<RecalledTool> {
  const newest = newestOf(ctx.db).get(id)
  const known = newest && knownTool(ctx.db, id, newest.version)
  if (!known) return readTool(ctx, id)
  const tool = reachable(ctx, known, 'tool', id)
  const basis = { toolId: id, toolVersion: tool.version }
  if (!tool.mcp) return { tool, catalogs: new Map(), basis }
  const catalogs = await loadCatalogs(ctx.db, [{ id, catalogHash: newest.catalogHash }])
  return { tool, catalogs, basis: { ...basis, catalogHash: catalogs.get(id)!.hash } }
}

/** The tool and its catalog as they are now, which this process remembers from then on. NOT_FOUND as `findTool`. */
export async function readTool(ctx: Ctx, id: string): Promise<RecalledTool> {
  newestOf(ctx.db).delete(id)
  const tool = await findTool(ctx, id)
  const catalogs = await loadToolCatalogs(ctx.db, [tool])
  rememberTool(ctx.db, tool)
  newestOf(ctx.db).set(id, { version: tool.version, catalogHash: catalogs.get(id)?.hash || null })
  return { tool, catalogs, basis: null }
}

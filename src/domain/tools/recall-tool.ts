/** Tools as this process has read them before. One may have been changed since: its basis is proved before it is used. */
import { memoryOf } from '../../store/db/memory.ts'
import type { Basis } from '../../store/db/proof.ts'
import { reachable, type Ctx } from '../access/index.ts'
import { loadCatalogs, type Catalog } from '../upstream/index.ts'
import { loadToolCatalogs } from './callables.ts'
import { knownTool, rememberTool } from './known-tools.ts'
import { findTool } from './registry.ts'
import type { Tool } from './tool.ts'

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

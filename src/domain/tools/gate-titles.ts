/** Checks the sentences of gates against the arguments that they name. */
import { writeJson } from '../../core/json.ts'
import { invalid, type Issue } from '../../core/errors.ts'
import type { Database } from '../../store/db/database.ts'
import { loadUpstreams } from '../upstream/index.ts'
import { titleParts, type GatePolicy } from '../gates/index.ts'
import type { Callable } from './callable.ts'
import { maskedPaths } from './masking.ts'
import { argumentNames } from './schema/fields.ts'
import type { ToolDefinition } from './fields.ts'
import type { OwnedDefinition, Tool } from './tool.ts'

/** The most names of arguments in a message. */
const maxNamesShown = 20

/** The tool whose arguments a title may name. */
type Named = Pick<OwnedDefinition, 'inputSchema' | 'projectId'>

/**
 * The faults of a gate's title: arguments that do not exist, and those whose values are never shown. `tool` is null for
 * a gate of calls with several schemas, which can have no title. `path` leads to the gate. Pure.
 */
export function titleFaults(
  gate: GatePolicy | null | undefined,
  tool: Named | null,
  path: readonly string[],
): Issue[] {
  if (gate?.title === undefined) return []
  const at = [...path, 'title']
  if (!tool) return [{ path: at, message: 'needs one input schema: set it on the gate of a single tool' }]
  const known = argumentNames(tool.inputSchema)
  const usable = known.filter((name) => !isMasked(tool, name))
  const names = (titleParts(gate.title) ?? []).flatMap((part) => ('name' in part ? [part.name] : []))
  return [...new Set(names)].flatMap((name) => {
    if (usable.includes(name)) return []
    const why = known.includes(name) ? 'whose value is never shown' : 'which is no argument of the tool'
    const choice = usable.slice(0, maxNamesShown).join(', ') || 'none'
    return [{ path: at, message: `names ${writeJson(name)}, ${why}; it can name: ${choice}` }]
  })
}

/** Where the gates of an mcp tool's actions are in its input. */
export function actionGatePath(at: number): string[] {
  return ['input', 'config', 'mcp', 'gates', String(at), 'gate']
}

/**
 * Throws INVALID for a title of a single action that the change sets, where the action is known and the title names
 * what it has not. Titles that are there already stay, whatever the upstream has changed since: see usableTitle.
 */
export async function checkActionTitles(db: Database, before: Tool, after: ToolDefinition): Promise<void> {
  const gates = Object.entries(after.mcp?.gates ?? {})
  const isNew = gates.map(([name, gate]) => gate.title !== before.mcp?.gates[name]?.title)
  if (!isNew.includes(true)) return
  const upstream = (await loadUpstreams(db, [before.id])).get(before.id)
  const issues = gates.flatMap(([name, gate], at) => {
    const action = upstream?.catalog.tools.find((one) => one.name === name)
    if (!isNew[at] || !action) return []
    return titleFaults(gate, { ...action, projectId: before.projectId }, actionGatePath(at))
  })
  if (issues.length > 0) throw invalid(issues)
}

/** The title of the gate, when the tool as it is now can fill it; else null. */
export function usableTitle(tool: Callable): string | null {
  const { gate } = tool
  return gate?.title !== undefined && titleFaults(gate, tool, []).length === 0 ? gate.title : null
}

function isMasked(tool: Named, name: string): boolean {
  return maskedPaths(tool, { [name]: null }).length > 0
}

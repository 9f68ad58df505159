/**
 * The gates of definitions: the parts that decide whether a call needs approval, and sentences that are checked
 * against the arguments that they name.
 */
import { writeJson, hashJson, type JsonObject } from '../../core/json.ts'
import { invalid, type Issue } from '../../core/errors.ts'
import type { Database } from '../../store/db/database.ts'
import { loadUpstreams } from '../upstream/index.ts'
import { titleParts, type GatePolicy } from '../gates/index.ts'
import type { Callable, OwnedDefinition, Tool } from './callable.ts'
import { maskedPaths } from './masking.ts'
import { argumentNames } from './schema/arguments.ts'
import type { ToolDefinition } from './fields.ts'
import { recordChange, type Ctx } from '../access/index.ts'
import { appendProjectEvents, gateChanged } from '../events/index.ts'

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

/**
 * A hash of everything that decides about a tool's calls: its policy, those of single actions, the destructive hint
 * that counts when no policy is set, and whether it may be called directly. With a policy that judges arguments, the
 * input schema and presets count too: renaming an argument would evade the policy. Equal hashes: the same calls pass.
 * Pure.
 */
export function gateFactsOf(definition: ToolDefinition): string {
  const { gate = null, mcp, annotations, agentsOnly = false, inputSchema, presetParameters } = definition
  const hint = gate === null ? (annotations.destructiveHint ?? null) : null
  const judges = [gate, ...Object.values(mcp?.gates ?? {})].some((policy) => policy?.mode === 'WHEN')
  return hashJson([gate, hint, mcp?.gates ?? {}, agentsOnly, judges ? [inputSchema, presetParameters] : null])
}

/** The same hash for the gate of an agent. Pure. */
export function gateFactsOfAgent({ gate = null }: { gate?: GatePolicy | null }): string {
  return hashJson(gate)
}

/** Records that a gate was changed: an audit entry and an event. Call it in the transaction of the change. */
export async function recordGateChanged(
  tx: Database,
  ctx: Ctx,
  { id, projectId, name }: { id: string; projectId: string; name: string },
  details: JsonObject = {},
): Promise<void> {
  const resource = `${resourceKinds[id.split('_', 1)[0]!]}/${id}`
  await recordChange(tx, ctx, { projectId, action: 'gates:Update', resource, details: { name, ...details } })
  await appendProjectEvents(tx, projectId, [gateChanged({ target: id, name, decidedBy: ctx.principal.id })])
}

const resourceKinds: Record<string, string> = { tool: 'tool', agt: 'agent', proj: 'project' }

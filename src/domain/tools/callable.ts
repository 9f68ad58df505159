/** What can be called: each name of a tool, with the definition as a call of it sees it. Pure. */
import type { JsonObject } from '../../core/json.ts'
import type { PlatformAction, PlatformActions } from '../access/index.ts'
import type { Catalog, UpstreamTool } from '../upstream/index.ts'
import { runtimeName } from './names.ts'
import { hidePresets, presetsFor } from './presets.ts'
import type { CallDefinition, CallKind, McpToolConfig, Tool, ToolAnnotations } from './tool.ts'

/**
 * A tool under one of its names, or an agent. Title, description, schemas, annotations, presets and gate are those of
 * that name.
 */
export interface Callable extends Omit<Tool, 'kind'> {
  kind: CallKind
  /** The name that models and clients call. */
  runtimeName: string
  /** Which of the tool's own: an upstream's tool or a platform action. Null for a tool with one name. */
  action: string | null
  /** Changes when the other side says something else of that action; null where we say everything ourselves. */
  definitionHash: string | null
  /** What else an upstream says of its tool, for whoever shows it. */
  shown?: { icons?: JsonObject[]; meta?: JsonObject }
}

/** What tools with several actions are made from. */
export interface Sources {
  actions: PlatformActions
  /** By the id of the tool. */
  catalogs: ReadonlyMap<string, Catalog>
}

/**
 * The callables of a tool, in a fixed order. http and client tools have one, named like the tool; of an mcp tool each
 * tool of its upstream is one, `{name}_{mcpToolName}`, and of a platform tool each action, `{name}_{action}` (S4, "Tool
 * Name Resolution"). What the upstream does not have now, and actions that are gone, are left out.
 */
export function callablesOf(tool: Tool, { actions, catalogs }: Sources): Callable[] {
  if (tool.mcp) return ofCatalog(tool, tool.mcp, catalogs.get(tool.id))
  if (!tool.platform) return [{ ...tool, runtimeName: runtimeName([tool.name]), ...single }]
  return tool.platform.actions.flatMap((name) => {
    const action = actions.find(name)
    return action ? [ofAction(tool, action)] : []
  })
}

const single = { action: null, definitionHash: null }

function ofAction(tool: Tool, action: PlatformAction): Callable {
  const { name, description, inputSchema, annotations, hash } = action
  return {
    ...tool,
    runtimeName: runtimeName([tool.name, name]),
    action: name,
    definitionHash: hash,
    title: tool.title,
    description: tool.description ? `${tool.description}\n\n${description}` : description,
    inputSchema,
    annotations: { ...annotations, ...tool.annotations },
    presetParameters: presetsFor(inputSchema, tool.presetParameters),
  }
}

/** A catalog never changes, so what was made of it for a version of a tool is kept beside it. */
const made = new WeakMap<Catalog, Map<string, Callable[]>>()

function ofCatalog(tool: Tool, config: McpToolConfig, catalog: Catalog | undefined): Callable[] {
  if (!catalog) return []
  const known = made.get(catalog) ?? new Map<string, Callable[]>()
  made.set(catalog, known)
  const key = `${tool.id}@${tool.version}`
  const found = known.get(key)
  if (found) return found
  const callables = catalog.tools
    .filter(({ name }) => isServed(config, name))
    .map((one) => ofUpstream(tool, config, one))
  known.clear()
  known.set(key, callables)
  return callables
}

function isServed({ allow, deny }: McpToolConfig, name: string): boolean {
  return (allow === null || allow.includes(name)) && !deny.includes(name)
}

function ofUpstream(tool: Tool, config: McpToolConfig, theirs: UpstreamTool): Callable {
  const { name, title, description, inputSchema, outputSchema, icons, meta } = theirs
  return {
    ...tool,
    runtimeName: runtimeName([tool.name, name]),
    action: name,
    definitionHash: theirs.hash,
    title,
    description: description || null,
    inputSchema,
    outputSchema,
    annotations: { ...hintsOf(theirs), ...tool.annotations },
    presetParameters: presetsFor(inputSchema, tool.presetParameters),
    // Hints of a stranger make a call stricter, and only where the operator trusts them freer.
    idempotent: tool.idempotent ?? (config.trustHints ? null : false),
    gate: config.gates[name] ?? tool.gate ?? null,
    shown: { ...(icons ? { icons } : {}), ...(meta ? { meta } : {}) },
  }
}

const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const

function hintsOf({ annotations }: UpstreamTool): ToolAnnotations {
  const found: ToolAnnotations = {}
  if (typeof annotations?.['title'] === 'string') found.title = annotations['title']
  for (const hint of hints) if (typeof annotations?.[hint] === 'boolean') found[hint] = annotations[hint]
  return found
}

/**
 * The input schema without the presets. One that cannot be worked out in time says nothing: what is sent is held against
 * the whole schema in any case.
 */
export function shownSchema(definition: CallDefinition): JsonObject {
  return hidePresets(definition.inputSchema, definition.presetParameters) ?? { type: 'object' }
}

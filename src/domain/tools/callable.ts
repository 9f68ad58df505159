/**
 * Callables: each name under which a stored tool can be called, with the definition that a call of that name uses.
 * Pure.
 */
import { kindOfId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { z } from 'zod'
import { entity, part } from '../../core/shapes.ts'
import * as view from '../../core/view.ts'
import { type ToolDefinition, type ToolAnnotations, judgedActionHash, runtimeName } from './fields.ts'
import type { PlatformAction, PlatformActions } from '../access/index.ts'
import { heldChanges, type Catalog, type UpstreamTool } from '../upstream/index.ts'
import { alwaysBy, gateOf, whenGiven, type GatePolicy } from '../gates/index.ts'
import { hidePresets, presetsFor } from './presets.ts'
import type { McpToolConfig } from './kinds/mcp-config.ts'
import type { ToolKind } from './tool-kinds.ts'

export const heldChange = part(
  'HeldChange',
  'What an upstream says of its tool now that would loosen it: it does not count until acceptUpstreamChange.',
  {
    changes: view.texts('What was so before and what the server says now, in a sentence each.'),
    hash: view.text('Names what the server says now, for acceptUpstreamChange.'),
  },
)

/** What a call can target: a tool of some kind, or an agent, which is not in the registry. */
export type CallKind = ToolKind | 'agent'

/** What calls depend on, whatever their target. */
export type CallDefinition = Omit<ToolDefinition, 'kind'>

/** A definition with the project whose budget judgements of its calls use. */
export type OwnedDefinition = CallDefinition & { projectId: string; agreedSchema?: JsonObject }

export interface Tool extends ToolDefinition {
  id: string
  projectId: string
  version: number
  /** The version that last changed what is judged (see fields.ts): what was agreed to since then still holds. */
  judgedVersion: number
  createdAt: Date
  updatedAt: Date
}

export const Tool = entity<Tool>()('Tool')

/**
 * Whether the id is that of a client tool of one run. Such a tool has one version, is not in the registry, and never
 * changes.
 */
export function isRunTool(toolId: string | null): boolean {
  return toolId !== null && kindOfId(toolId) === 'runTool'
}

/**
 * Whether a call whose outcome was lost may be repeated under the same idempotency key. `idempotent` wins; else GET and
 * HEAD may (RFC 9110, 9.2.2), and tools that the operator annotated as read-only or idempotent.
 */
export function isIdempotent(definition: CallDefinition): boolean {
  if (definition.idempotent !== null) return definition.idempotent
  const { readOnlyHint, idempotentHint } = definition.annotations
  if (readOnlyHint === true || idempotentHint === true) return true
  return definition.http?.method === 'GET' || definition.http?.method === 'HEAD'
}

/**
 * A tool under one of its names, or an agent. Title, description, schemas, annotations, presets and gate are those that
 * hold for this name.
 */
export interface Callable extends Omit<Tool, 'kind'> {
  kind: CallKind
  /** The name that models and clients call. */
  runtimeName: string
  /** The upstream's tool or the platform action behind this name; null for a tool with one name. */
  action: string | null
  /** Changes with what is judged of the other side's definition of the action; null when the stored one says everything. */
  definitionHash: string | null
  /** Changes with every word of that definition: earlier releases kept this one with their questions. */
  wholeHash?: string
  /** The arguments that people agreed to, where those of now differ: until somebody agrees, no condition on them can be judged. */
  agreedSchema?: JsonObject
  /** What the server says now that does not count until somebody agrees, in a sentence each; absent: nothing. */
  heldChange?: z.output<typeof heldChange>
  /** The gate where nobody has set one; absent: none. */
  defaultGate?: GatePolicy
  /** What else an upstream declares about its tool, for listings. */
  shown?: { icons?: JsonObject[]; meta?: JsonObject }
}

/** What callables of mcp and platform tools are made from. */
export interface Sources {
  actions: PlatformActions
  /** By the id of the tool. */
  catalogs: ReadonlyMap<string, Catalog>
}

/**
 * The callables of a tool, in a fixed order. http and client tools have one, named like the tool. An mcp tool has one
 * for each tool of its upstream, `{name}_{mcpToolName}`, and a platform tool one for each action, `{name}_{action}`.
 * Upstream tools and actions that do not exist now are left out.
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
    definitionHash: judgedActionHash(action),
    wholeHash: hash,
    title: tool.title,
    description: tool.description ? `${tool.description}\n\n${description}` : description,
    inputSchema,
    annotations: { ...annotations, ...tool.annotations },
    presetParameters: presetsFor(inputSchema, tool.presetParameters),
    ...(action.loosening.length > 0 ? { defaultGate: whenGiven(action.loosening) } : {}),
  }
}

/** Caches the callables made from a catalog, for one version of the tool: a catalog never changes. */
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

function ofUpstream(tool: Tool, config: McpToolConfig, upstreamTool: UpstreamTool): Callable {
  const { name, title, description, inputSchema, outputSchema, icons, meta, held } = upstreamTool
  const gate = config.gates[name] ?? tool.gate ?? null
  const lost = lostPresets(tool, inputSchema, held?.inputSchema)
  return {
    ...tool,
    runtimeName: runtimeName([tool.name, name]),
    action: name,
    definitionHash: judgedActionHash(upstreamTool),
    wholeHash: upstreamTool.hash,
    title,
    description: description || null,
    inputSchema,
    outputSchema,
    annotations: { ...hintsOf(upstreamTool), ...held?.annotations, ...tool.annotations },
    presetParameters: presetsFor(inputSchema, tool.presetParameters),
    // Untrusted hints can make a call stricter; they make it freer only where the operator trusts them.
    idempotent: tool.idempotent ?? (config.trustHints ? null : false),
    gate: lost ? alwaysBy(gate) : gate,
    ...(held?.inputSchema ? { agreedSchema: held.inputSchema } : {}),
    ...(held ? { heldChange: { changes: heldChanges(upstreamTool), hash: upstreamTool.hash } } : {}),
    shown: { ...(icons ? { icons } : {}), ...(meta ? { meta } : {}) },
  }
}

/** Whether the server has dropped or renamed an argument that a preset fixes. */
function lostPresets({ presetParameters }: Tool, now: JsonObject, agreed: JsonObject | undefined): boolean {
  if (!agreed) return false
  const kept = presetsFor(now, presetParameters)
  const before = agreed['properties'] ? presetsFor(agreed, presetParameters) : presetParameters
  return Object.keys(before).some((name) => !Object.hasOwn(kept, name))
}

/**
 * The gate of the callable itself. A condition on arguments that the server has changed cannot be judged: it stops every call
 * until a person agrees to the change.
 */
export function ownGateOf(callable: Callable): ReturnType<typeof gateOf> {
  const gate = gateOf(callable)
  return { ...asJudged(callable, gate), source: gate.source }
}

/** The policies of a call: the gate of the callable, and these, whose conditions are judged in the same way. */
export function policiesOf(callable: Callable, more: readonly GatePolicy[]): GatePolicy[] {
  return [ownGateOf(callable), ...more.map((policy) => asJudged(callable, policy))]
}

function asJudged({ agreedSchema }: Callable, policy: GatePolicy): GatePolicy {
  return agreedSchema && policy.mode === 'WHEN' ? alwaysBy(policy) : policy
}

const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const

function hintsOf({ annotations }: UpstreamTool): ToolAnnotations {
  const found: ToolAnnotations = {}
  if (typeof annotations?.['title'] === 'string') found.title = annotations['title']
  for (const hint of hints) if (typeof annotations?.[hint] === 'boolean') found[hint] = annotations[hint]
  return found
}

/**
 * The input schema without the presets. Allows everything when it cannot be computed in time: the full schema is always
 * checked as well.
 */
export function shownSchema(definition: OwnedDefinition): JsonObject {
  return (
    hidePresets(definition.inputSchema, definition.presetParameters, definition.projectId) ?? {
      type: 'object',
    }
  )
}

/** The stored definition of a tool, and the rules that follow from it. Pure. */
import { kindOfId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { UpstreamConfig } from '../upstream/index.ts'
import type { GatePolicy } from '../gates/index.ts'
import type { HttpToolConfig } from './kinds/http.ts'

export const toolKinds = ['http', 'client', 'mcp', 'platform'] as const
export type ToolKind = (typeof toolKinds)[number]

/** What a call can target: a tool of some kind, or an agent, which is not in the registry. */
export type CallKind = ToolKind | 'agent'

/** Hints for clients (MCP ToolAnnotations). The operator's also decide `idempotent` when it is not set. */
export interface ToolAnnotations {
  title?: string
  readOnlyHint?: boolean
  destructiveHint?: boolean
  idempotentHint?: boolean
  openWorldHint?: boolean
}

/** Another MCP server as a tool: how it is reached, and which of its tools are offered, and how. */
export interface McpToolConfig extends UpstreamConfig {
  /** Names of the upstream's tools to offer; null offers all. */
  allow: string[] | null
  /** Names of tools that are never offered. */
  deny: string[]
  /** Gates of single tools, by their upstream name; the others use the gate of the whole tool. */
  gates: Record<string, GatePolicy>
  /** Resources by URI and prompts by name that MCP clients may read, as patterns. Absent: none. */
  relay?: { resources: string[]; prompts: string[] }
  /** Whether the upstream's hints about repetition are trusted. A destructive hint stops calls either way. */
  trustHints: boolean
}

/** Operations of Gatehouse as a tool. */
export interface PlatformToolConfig {
  /** Names of platform actions. */
  actions: string[]
}

export const taskModes = ['NEVER', 'OPTIONAL', 'REQUIRED'] as const
export const inputPhases = ['BEFORE_TASK', 'IN_TASK'] as const

/** How calls over MCP become tasks (extension io.modelcontextprotocol/tasks). */
export interface TaskPolicy {
  /** REQUIRED: only clients that support tasks may call it. */
  mode: (typeof taskModes)[number]
  /** Where input that an upstream requests is asked for: in the request, before the task exists, or inside the task. */
  inputPhase: (typeof inputPhases)[number]
}

export const taskDefaults: TaskPolicy = { mode: 'OPTIONAL', inputPhase: 'BEFORE_TASK' }

/** Everything about a tool that affects its calls. Each change makes a new version. */
export interface ToolDefinition {
  name: string
  kind: ToolKind
  title: string | null
  description: string | null
  /** Of a tool with one name; tools with several actions have one for each action. */
  inputSchema: JsonObject
  outputSchema: JsonObject | null
  annotations: ToolAnnotations
  /** Fixed arguments by top-level name: hidden from models and clients; they always win over sent values. */
  presetParameters: JsonObject
  /** Time limit for one call in milliseconds; null: the installation's default. */
  timeoutMs: number | null
  /** Whether a call may be repeated after a crash; null: decided by method and annotations. */
  idempotent: boolean | null
  /** When a call needs an approval; null: decided by `annotations.destructiveHint`. Absent in old versions. */
  gate?: GatePolicy | null
  /** Whether only agents may call it, so that direct calls cannot evade the gate of an agent. Absent: false. */
  agentsOnly?: boolean
  /** Absent: the defaults. */
  task?: TaskPolicy
  http: HttpToolConfig | null
  /** Absent in versions older than these kinds. */
  mcp?: McpToolConfig | null
  platform?: PlatformToolConfig | null
}

/** What calls depend on, whatever their target. */
export type CallDefinition = Omit<ToolDefinition, 'kind'>

/** A definition with the project whose budget judgements of its calls use. */
export type OwnedDefinition = CallDefinition & { projectId: string; agreedSchema?: JsonObject }

export interface Tool extends ToolDefinition {
  id: string
  projectId: string
  version: number
  /** The version that last changed what is judged (see judged.ts): what was agreed to since then still holds. */
  judgedVersion: number
  createdAt: Date
  updatedAt: Date
}

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

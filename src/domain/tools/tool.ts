/** What a tool is: the stored definition and the rules that follow from it. Pure. */
import type { JsonObject } from '../../core/json.ts'
import type { UpstreamConfig } from '../upstream/index.ts'
import type { GatePolicy } from './gate.ts'
import type { HttpToolConfig } from './kinds/http.ts'

export const toolKinds = ['http', 'client', 'mcp', 'platform'] as const
export type ToolKind = (typeof toolKinds)[number]

/** What a call can go to: a tool of some kind, or another agent, which is no tool of the registry. */
export type CallKind = ToolKind | 'agent'

/** Hints for clients, in the words of MCP (ToolAnnotations). Ours also decide `idempotent` when it is not set. */
export interface ToolAnnotations {
  title?: string
  readOnlyHint?: boolean
  destructiveHint?: boolean
  idempotentHint?: boolean
  openWorldHint?: boolean
}

/** A foreign MCP server as a tool: how it is reached, and which of its tools are served how. */
export interface McpToolConfig extends UpstreamConfig {
  /** Names of its tools that are served; null serves all. */
  allow: string[] | null
  /** Names that are never served. */
  deny: string[]
  /** Gates of single tools, by their name there; the others have the gate of the whole tool. */
  gates: Record<string, GatePolicy>
  /** Its resources by URI and its prompts by name that clients of the bridge may read, as patterns. Absent: none. */
  relay?: { resources: string[]; prompts: string[] }
  /** Whether its hints about repeating are believed. What it calls destructive is stopped either way. */
  trustHints: boolean
}

/** Our own operations as a tool. */
export interface PlatformToolConfig {
  /** Names of platform actions. */
  actions: string[]
}

export const taskModes = ['NEVER', 'OPTIONAL', 'REQUIRED'] as const
export const inputPhases = ['BEFORE_TASK', 'IN_TASK'] as const

/** How calls over MCP become tasks (extension io.modelcontextprotocol/tasks). */
export interface TaskPolicy {
  /** REQUIRED: only clients that know tasks may call it. */
  mode: (typeof taskModes)[number]
  /** Where an upstream's questions are put: to the request, before there is a task, or inside the task. */
  inputPhase: (typeof inputPhases)[number]
}

export const taskDefaults: TaskPolicy = { mode: 'OPTIONAL', inputPhase: 'BEFORE_TASK' }

/** Everything about a tool that a call depends on. Each change makes a new version. */
export interface ToolDefinition {
  name: string
  kind: ToolKind
  title: string | null
  description: string | null
  /** Of a tool with one name; the others have one for each action. */
  inputSchema: JsonObject
  outputSchema: JsonObject | null
  annotations: ToolAnnotations
  /** Fixed arguments, by top-level name: hidden from models and clients, and always ours. */
  presetParameters: JsonObject
  /** Time for one call in milliseconds; null means the installation's default. */
  timeoutMs: number | null
  /** Whether a call may be repeated after a crash; null leaves it to method and annotations. */
  idempotent: boolean | null
  /** When a human must agree; null leaves it to `annotations.destructiveHint`. Absent in versions of before the gate. */
  gate?: GatePolicy | null
  /** Whether calls come from agents only, so that the gate of an agent cannot be gone around. Absent: false. */
  agentsOnly?: boolean
  /** Absent where the defaults hold. */
  task?: TaskPolicy
  http: HttpToolConfig | null
  /** Absent in versions of before these kinds. */
  mcp?: McpToolConfig | null
  platform?: PlatformToolConfig | null
}

/** What calls depend on, whatever they go to. */
export type CallDefinition = Omit<ToolDefinition, 'kind'>

export interface Tool extends ToolDefinition {
  id: string
  projectId: string
  version: number
  createdAt: Date
  updatedAt: Date
}

/**
 * Whether a call whose outcome was lost may be made again under the same idempotency key. What is set wins; else GET
 * and HEAD may (RFC 9110, 9.2.2), and what the operator annotated as read-only or idempotent.
 */
export function isIdempotent(definition: CallDefinition): boolean {
  if (definition.idempotent !== null) return definition.idempotent
  const { readOnlyHint, idempotentHint } = definition.annotations
  if (readOnlyHint === true || idempotentHint === true) return true
  return definition.http?.method === 'GET' || definition.http?.method === 'HEAD'
}

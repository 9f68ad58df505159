/** What a tool is: the stored definition and the rules that follow from it. Pure. */
import type { JsonObject } from '../../core/json.ts'
import type { GatePolicy } from './gate.ts'
import type { HttpToolConfig } from './kinds/http.ts'

export const toolKinds = ['http', 'client'] as const
export type ToolKind = (typeof toolKinds)[number]

/** Hints for clients, in the words of MCP (ToolAnnotations). Ours also decide `idempotent` when it is not set. */
export interface ToolAnnotations {
  title?: string
  readOnlyHint?: boolean
  destructiveHint?: boolean
  idempotentHint?: boolean
  openWorldHint?: boolean
}

/** Everything about a tool that a call depends on. Each change makes a new version. */
export interface ToolDefinition {
  name: string
  kind: ToolKind
  title: string | null
  description: string | null
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
  http: HttpToolConfig | null
}

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
export function isIdempotent(definition: ToolDefinition): boolean {
  if (definition.idempotent !== null) return definition.idempotent
  const { readOnlyHint, idempotentHint } = definition.annotations
  if (readOnlyHint === true || idempotentHint === true) return true
  return definition.http?.method === 'GET' || definition.http?.method === 'HEAD'
}

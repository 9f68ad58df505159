/** The stored definition of a tool, and the rules that follow from it. Pure. */
import { kindOfId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import { entity } from '../../core/shapes.ts'
import type { ToolDefinition, ToolKind } from './fields.ts'

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
  /** The version that last changed what is judged (see judged.ts): what was agreed to since then still holds. */
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

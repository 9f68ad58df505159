/** What a model or client sees of tools: runtime names and schemas without presets. */
import type { JsonObject } from '../../core/json.ts'
import { hidePresets } from './presets.ts'
import { runtimeName } from './names.ts'
import type { Tool, ToolAnnotations, ToolDefinition, ToolKind } from './tool.ts'

/** One callable name. */
export interface SurfaceEntry {
  runtimeName: string
  toolId: string
  toolVersion: number
  kind: ToolKind
  title: string | null
  description: string | null
  /** What the model sees: presets are not in it. */
  inputSchema: JsonObject
  outputSchema: JsonObject | null
  annotations: ToolAnnotations
}

/** The input schema without the presets. */
export function shownSchema(definition: ToolDefinition): JsonObject {
  return hidePresets(definition.inputSchema, definition.presetParameters)
}

/** The entries of these tools, in their order. http and client tools have one name each (S4, "Tool Name Resolution"). */
export function surfaceOf(tools: readonly Tool[]): SurfaceEntry[] {
  return tools.map((tool) => ({
    runtimeName: runtimeName([tool.name]),
    toolId: tool.id,
    toolVersion: tool.version,
    kind: tool.kind,
    title: tool.title,
    description: tool.description,
    inputSchema: shownSchema(tool),
    outputSchema: tool.outputSchema,
    annotations: tool.annotations,
  }))
}

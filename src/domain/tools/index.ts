/** The front door of tools. */
export { callTool, codeOf, recoverDirectCall, unknownResult, type CallToolInput } from './call.ts'
export { prepareCall, type Prepared } from './prepare.ts'
export {
  createTool,
  deleteTool,
  getTools,
  listTools,
  loadTools,
  loadVersion,
  updateTool,
  type CreateToolInput,
  type UpdateToolInput,
} from './registry.ts'
export { checkOutput, runTool } from './run.ts'
export { shownSchema, surfaceOf, type SurfaceEntry } from './surface.ts'
export { isIdempotent, toolKinds, type Tool, type ToolDefinition, type ToolKind } from './tool.ts'
export {
  getToolCalls,
  isOpen,
  listToolCalls,
  loadCallsOf,
  toolCallStatuses,
  type ToolCall,
  type ToolCallStatus,
} from './tool-call.ts'

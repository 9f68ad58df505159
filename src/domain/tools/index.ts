/** The front door of tools. */
export {
  gateInput,
  gateModes,
  gateOf,
  gateSources,
  judgeGate,
  meets,
  stricter,
  type GateInput,
  type GateMode,
  type GatePolicy,
  type GateSource,
  type Requirement,
} from './gate.ts'
export { attemptBegins, attemptEnds, newAttempt } from './ledger.ts'
export { masked, maskedPaths, maskedText } from './masking.ts'
export type { PlatformAction, PlatformActions } from './platform.ts'
export { prepareCall, type Prepared } from './prepare.ts'
export {
  createTool,
  deleteTool,
  findTool,
  getTools,
  listTools,
  loadTools,
  loadVersion,
  updateTool,
  type CreateToolInput,
  type UpdateToolInput,
} from './registry.ts'
export { checkOutput, codeOf, runTool, timeoutOf, unknownResult } from './run.ts'
export { isToolName, runtimeName } from './names.ts'
export { shownSchema, surfaceOf, type SurfaceEntry } from './surface.ts'
export { isIdempotent, toolKinds, type Tool, type ToolDefinition, type ToolKind } from './tool.ts'
export {
  getToolCalls,
  isOpen,
  listToolCalls,
  loadCallsOf,
  resolutions,
  toolCallOf,
  toolCallStatuses,
  type Resolution,
  type ToolCall,
  type ToolCallAttempt,
  type ToolCallStatus,
} from './tool-call.ts'

/** The port to Gatehouse's own operations as tools. The face that knows the schema fills it; see decision 8. */
import type { ToolResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Ctx } from '../access/index.ts'
import type { ToolAnnotations } from './tool.ts'

/** One operation that is offered as a tool. */
export interface PlatformAction {
  /** kebab-case, such as `create-tool`. */
  name: string
  description: string
  inputSchema: JsonObject
  annotations: ToolAnnotations
}

export interface PlatformActions {
  list(): readonly PlatformAction[]
  /**
   * Runs an action in this process with the caller's own rights. A refusal of the operation is a result with `isError`;
   * INVALID for arguments that do not fit, NOT_FOUND for an unknown action.
   */
  run(ctx: Ctx, name: string, args: JsonObject): Promise<ToolResult>
}

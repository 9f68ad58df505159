/** Events of tools, and of the MCP servers behind them. */
import { kindsOf, projectOnly } from './define.ts'

/** `name` and `version` are those that the change left, or those of the tool that was deleted. */
type ToolFacts = { toolId: string; name: string; version: number }

export interface ToolEvents {
  TOOL_CREATED: ToolFacts
  TOOL_UPDATED: ToolFacts
  TOOL_DELETED: ToolFacts
  /** Error code of the upstream; null without an error. */
  UPSTREAM_STATUS: {
    toolId: string
    status: 'PENDING' | 'CONNECTED' | 'DEGRADED' | 'UNREACHABLE' | 'AUTHORIZATION_REQUIRED'
    code: string | null
  }
  /** Names of the server's tools, at most 50 in each list. */
  UPSTREAM_CHANGED: { toolId: string; added: string[]; removed: string[]; changed: string[] }
}

const kind = kindsOf<ToolEvents>()

export const toolCreated = kind('TOOL_CREATED', projectOnly)
export const toolUpdated = kind('TOOL_UPDATED', projectOnly)
export const toolDeleted = kind('TOOL_DELETED', projectOnly)
export const upstreamStatus = kind('UPSTREAM_STATUS', projectOnly)
export const upstreamChanged = kind('UPSTREAM_CHANGED', projectOnly)

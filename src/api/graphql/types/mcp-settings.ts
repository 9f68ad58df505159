/** The MCP settings of agents. */
import { errorProfiles, type McpSettings } from '../../../domain/agents/index.ts'
import type { Builder } from '../builder/builder.ts'
import { described } from '../builder/described.ts'

export type McpSettingTypes = ReturnType<typeof addMcpSettings>

/** Adds the types and returns those that the type and inputs of agents use. */
export function addMcpSettings(builder: Builder) {
  const Profile = builder.enumType('McpErrorProfile', {
    description: 'The JSON-RPC error codes that MCP clients of an agent receive.',
    values: described(errorProfiles, {
      AUTO: 'Error codes are those of SPEC, and those of SEED for clients without MCP protocol headers.',
      SPEC: 'Error codes are those of the newest MCP specification, for every client.',
      SEED: 'Error codes are -32601 unknown tool, -32602 invalid arguments and -32003 timeout, for every client.',
    }),
  })
  const enabled = 'Whether the agent is served to MCP clients at /mcp/{agentId}.'
  const Input = builder.inputType('AgentMcpInput', {
    description: 'The settings of an agent for MCP clients.',
    fields: (t) => ({
      enabled: t.boolean({ description: `${enabled} Default: false.` }),
      errorProfile: t.field({
        type: Profile,
        description: 'The error codes that MCP clients receive. Default: AUTO.',
      }),
    }),
  })
  const Type = builder.objectRef<McpSettings>('AgentMcp').implement({
    description: 'The settings of an agent for MCP clients.',
    fields: (t) => ({
      enabled: t.exposeBoolean('enabled', { description: enabled }),
      errorProfile: t.expose('errorProfile', {
        type: Profile,
        description: 'The error codes that MCP clients receive.',
      }),
    }),
  })
  return { Input, Type }
}

export const mcpDescription =
  'The MCP server of the agent, which serves its tools, and the agent itself as a tool. startGeneration ' +
  'cannot override it.'

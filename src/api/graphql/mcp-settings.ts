/** What an agent shows to MCP clients, on the wire. */
import { errorProfiles, type McpSettings } from '../../domain/agents/index.ts'
import type { Builder } from './builder.ts'
import { described } from './described.ts'

export type McpSettingTypes = ReturnType<typeof addMcpSettings>

/** Adds the types and answers what the agents' type and inputs use of them. */
export function addMcpSettings(builder: Builder) {
  const Profile = builder.enumType('McpErrorProfile', {
    description: 'Which error numbers an MCP client of an agent sees.',
    values: described(errorProfiles, {
      AUTO: 'Those of the specification; plain callers without protocol headers get SEED.',
      SPEC: 'Those of the newest specification, for everybody.',
      SEED: '-32601 unknown tool, -32602 invalid arguments, -32003 timeout, for everybody.',
    }),
  })
  const enabled = 'Whether MCP clients reach the agent at /mcp/{agentId}; false when left out.'
  const Input = builder.inputType('AgentMcpInput', {
    description: 'What an agent shows to MCP clients.',
    fields: (t) => ({
      enabled: t.boolean({ description: enabled }),
      errorProfile: t.field({ type: Profile, description: 'AUTO when left out.' }),
    }),
  })
  const Type = builder.objectRef<McpSettings>('AgentMcp').implement({
    description: 'What an agent shows to MCP clients.',
    fields: (t) => ({
      enabled: t.exposeBoolean('enabled', { description: enabled }),
      errorProfile: t.expose('errorProfile', { type: Profile, description: 'Its error numbers.' }),
    }),
  })
  return { Input, Type }
}

export const mcpDescription =
  'What it shows to MCP clients: its tools, and itself as a tool. A run cannot override it.'

/** Events of agents, of tools, and of the MCP servers behind them. */
import { z } from 'zod'
import { withExample } from '../../core/shapes.ts'
import { event, projectOnly, withFieldName } from './define.ts'
import { agentId, code, id, name, words } from './fields.ts'

const of = { log: projectOnly, group: 'agents' } as const

/** With the name, that which the change left, or that of what was deleted. */
const version = withFieldName(withExample(z.int(), 3), null)
const agent = { agentId, name: withExample(name.clone(), 'clerk'), version }
const toolId = id('The id of the tool.', 'tool_1')
const tool = { toolId, name, version }

export const agentCreated = event('AGENT_CREATED', {
  object: 'Agent',
  ...of,
  about: 'An agent was created.',
  data: agent,
})
export const agentUpdated = event('AGENT_UPDATED', {
  object: 'Agent',
  ...of,
  about: 'An agent was changed.',
  data: agent,
})
export const agentDeleted = event('AGENT_DELETED', {
  object: 'Agent',
  ...of,
  about: 'An agent was deleted.',
  data: agent,
})

export const toolCreated = event('TOOL_CREATED', {
  object: 'Tool',
  ...of,
  about: 'A tool was created.',
  data: tool,
})
export const toolUpdated = event('TOOL_UPDATED', {
  object: 'Tool',
  ...of,
  about: 'A tool was changed.',
  data: tool,
})
export const toolDeleted = event('TOOL_DELETED', {
  object: 'Tool',
  ...of,
  about: 'A tool was deleted.',
  data: tool,
})

export const upstreamStatus = event('UPSTREAM_STATUS', {
  ...of,
  about: 'The status of the server behind an mcp tool changed.',
  data: {
    toolId,
    status: code(
      'The new status of the server, an UpstreamStatus.',
      ['PENDING', 'CONNECTED', 'DEGRADED', 'UNREACHABLE', 'AUTHORIZATION_REQUIRED'],
      'DEGRADED',
    ),
    code: withFieldName(
      withExample(
        z
          .string()
          .nullable()
          .describe('The stable code of the failure for programs; null when the server responds.'),
        'timeout',
      ),
      'faultCode',
    ),
  },
})
export const upstreamChanged = event('UPSTREAM_CHANGED', {
  ...of,
  about: 'The server behind an mcp tool has added, removed or changed tools. Each list has at most 50 names.',
  data: {
    toolId,
    added: words('The names of the tools that the server has added.', ['a']),
    removed: words('The names of the tools that the server has removed.', ['b', 'c']),
    changed: words('The names of the tools whose definition has changed.', []),
  },
})

/** Events of agents, of tools and the MCP servers behind them, and of triggers. */
import { z } from 'zod'
import { withExample } from '../../core/shapes.ts'
import { internal, under } from '../../core/view.ts'
import { event, projectOnly, agentId, code, id, name, words, number, word } from './define.ts'

const of = { log: projectOnly, group: 'agents' } as const

/** With the name, that which the change left, or that of what was deleted. */
const version = internal(withExample(z.int(), 3))
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
    code: under(
      'faultCode',
      withExample(
        z
          .string()
          .nullable()
          .describe('The stable code of the failure for programs; null when the server responds.'),
        'timeout',
      ),
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

const triggerId = id('The id of the trigger.', 'trg_1')
const trigger = { triggerId, name: word('The name of the trigger.', 'every morning') }
const missed = number(
  'The number of earlier times of the schedule at which no server ran; 100 means 100 or more.',
  0,
)

/** Events of triggers. */
export const triggerCreated = event('TRIGGER_CREATED', {
  object: 'Trigger',
  ...of,
  about: 'A trigger was created.',
  data: trigger,
})
export const triggerUpdated = event('TRIGGER_UPDATED', {
  object: 'Trigger',
  ...of,
  about: 'A trigger was changed, enabled or disabled, or its secret was rotated.',
  data: trigger,
})
export const triggerDeleted = event('TRIGGER_DELETED', {
  object: 'Trigger',
  ...of,
  about: 'A trigger was deleted; the generations that it has started stay.',
  data: trigger,
})
export const triggerStarted = event('TRIGGER_STARTED', {
  ...of,
  about: 'A trigger has started a generation, at its time, by a message or by request.',
  data: {
    triggerId,
    runId: id('The id of the generation that was started.', 'gen_1'),
    missed,
  },
})
export const triggerSkipped = event('TRIGGER_SKIPPED', {
  ...of,
  about: 'A schedule has started nothing at its time.',
  data: {
    triggerId,
    reason: word(
      'Why nothing was started: OVERLAP (the generation before has not ended), REQUESTER_GONE (the API key or person ' +
        'that saved the trigger may not act any more), or the code of the error.',
      'OVERLAP',
    ),
    missed,
  },
})

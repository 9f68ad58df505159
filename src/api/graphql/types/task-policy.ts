/** TaskPolicy: how MCP calls of a tool become tasks. */
import { inputPhases, taskModes, type TaskPolicy } from '../../../domain/tools/index.ts'
import { described } from '../builder/described.ts'
import type { Refs } from '../builder/refs.ts'

/** Adds the object type and the input type, and returns both. */
export function addTaskPolicy({ builder }: Refs) {
  const Mode = builder.enumType('TaskMode', {
    description: 'Whether calls over MCP become tasks (extension io.modelcontextprotocol/tasks).',
    values: described(taskModes, {
      NEVER: 'Calls never become tasks: the client waits for the result.',
      OPTIONAL: 'Calls become tasks when the client supports tasks and the result takes long.',
      REQUIRED: 'Calls always become tasks: clients without support for tasks may not call the tool.',
    }),
  })
  const Phase = builder.enumType('InputPhase', {
    description: 'When the client receives input requests (elicitation) of an upstream server.',
    values: described(inputPhases, {
      BEFORE_TASK:
        'The client receives early input requests in the tools/call request, before the task is created.',
      IN_TASK: 'The client receives input requests inside the task.',
    }),
  })
  const meanings = {
    mode: 'Whether calls become tasks.',
    inputPhase: 'When the client receives input requests of an upstream server.',
  }
  return {
    Object: builder.objectRef<TaskPolicy>('TaskPolicy').implement({
      description: 'How calls of a tool over MCP become tasks.',
      fields: (t) => ({
        mode: t.expose('mode', { type: Mode, description: meanings.mode }),
        inputPhase: t.expose('inputPhase', { type: Phase, description: meanings.inputPhase }),
      }),
    }),
    Input: builder.inputType('TaskPolicyInput', {
      description: 'How calls of a tool over MCP become tasks.',
      fields: (t) => ({
        mode: t.field({ type: Mode, description: `${meanings.mode} Default: OPTIONAL.` }),
        inputPhase: t.field({ type: Phase, description: `${meanings.inputPhase} Default: BEFORE_TASK.` }),
      }),
    }),
  }
}

/** How calls of a tool become tasks, on the wire. */
import { inputPhases, taskModes, type TaskPolicy } from '../../domain/tools/index.ts'
import { described } from './described.ts'
import type { Refs } from './refs.ts'

/** Adds both directions of it. */
export function addTaskPolicy({ builder }: Refs) {
  const Mode = builder.enumType('TaskMode', {
    description: 'Whether calls over MCP become tasks (extension io.modelcontextprotocol/tasks).',
    values: described(taskModes, {
      NEVER: 'Never: the client waits for the answer.',
      OPTIONAL: 'When the client knows tasks and the answer takes a while.',
      REQUIRED: 'Always: clients that do not know tasks may not call it.',
    }),
  })
  const Phase = builder.enumType('InputPhase', {
    description: 'Where questions of an upstream are put to the client.',
    values: described(inputPhases, {
      BEFORE_TASK: 'To the request, before there is a task, when they come soon enough.',
      IN_TASK: 'Inside the task.',
    }),
  })
  const words = { mode: 'Whether calls become tasks.', inputPhase: 'Where an upstream asks the client.' }
  return {
    Object: builder.objectRef<TaskPolicy>('TaskPolicy').implement({
      description: 'How calls of a tool over MCP become tasks.',
      fields: (t) => ({
        mode: t.expose('mode', { type: Mode, description: words.mode }),
        inputPhase: t.expose('inputPhase', { type: Phase, description: words.inputPhase }),
      }),
    }),
    Input: builder.inputType('TaskPolicyInput', {
      description: 'How calls of a tool over MCP become tasks.',
      fields: (t) => ({
        mode: t.field({ type: Mode, description: `${words.mode} OPTIONAL when left out.` }),
        inputPhase: t.field({ type: Phase, description: `${words.inputPhase} BEFORE_TASK when left out.` }),
      }),
    }),
  }
}

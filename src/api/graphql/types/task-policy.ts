/** TaskPolicy: how MCP calls of a tool become tasks. */
import { inputPhase, taskMode, type TaskPolicy } from '../../../domain/tools/index.ts'
import type { Refs } from '../builder/refs.ts'

export function addTaskPolicy({ builder, shapes }: Refs) {
  return builder.objectRef<TaskPolicy>('TaskPolicy').implement({
    description: 'How calls of a tool over MCP become tasks.',
    fields: (t) => ({
      mode: t.expose('mode', { type: shapes.choice(taskMode), description: 'Whether calls become tasks.' }),
      inputPhase: t.expose('inputPhase', {
        type: shapes.choice(inputPhase),
        description: 'When the client receives input requests of an upstream server.',
      }),
    }),
  })
}

/** The list of calls whose outcome is unknown, in GraphQL. */
import { listUnknownCalls } from '../../../domain/calls/index.ts'
import { listCost, page, type connectionOf } from '../builder/connections.ts'
import { createdFields, joined } from '../builder/filters.ts'
import type { Refs } from '../builder/refs.ts'

export function addUnknownCalls({ builder }: Refs, connection: ReturnType<typeof connectionOf>): void {
  const Filter = builder.inputType('UnknownToolCallFilter', {
    description: 'Which tool calls with status UNKNOWN are listed: those that match all given fields.',
    fields: (t) => ({
      toolId: t.id({ description: 'Only calls of the tool with this id.' }),
      agentId: t.id({
        description:
          'Only calls in generations of the agent with this id, and calls that MCP clients made through it.',
      }),
      search: t.string({
        description:
          'Only calls with all these words, at most 200 characters, in the name of the tool or in the approval of the call, as ' +
          'in ApprovalFilter; ids and the code of the error are found too. Approvals are searched only for callers that may ' +
          'do approvals:List.',
      }),
      ...createdFields(t, 'calls'),
    }),
  })
  builder.queryField('unknownToolCalls', (t) =>
    t.field({
      type: connection,
      description:
        'The tool calls with status UNKNOWN of a project, newest first: resolveUnknownCall settles them. ' +
        'Permission: toolCalls:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        toolId: t.arg.id({ description: 'Only calls of the tool with this id.' }),
        filter: t.arg({ type: Filter, description: 'Only calls that match all given fields.' }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, toolId, filter, ...args }, { ctx }) =>
        page(args, (p) => listUnknownCalls(ctx, { projectId, filter: joined(filter, { toolId }), page: p })),
    }),
  )
}

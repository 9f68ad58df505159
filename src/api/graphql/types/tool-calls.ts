/** Tool calls in GraphQL: the object type and the queries. */
import { toolCallFilter, toolCallShape } from '../../../domain/tool-calls/index.ts'
import type { Refs } from '../builder/refs.ts'
import { summaryOf } from '../../../domain/approvals/index.ts'
import { listCalls } from '../../../domain/calls/index.ts'
import { maskAt } from '../../../domain/tools/index.ts'
import { shown } from '../builder/action-mark.ts'
import { connectionOf } from '../builder/connections.ts'
import { addById, addList } from '../builder/queries.ts'

export function addToolCalls(refs: Refs): void {
  refs.shapes.node(refs.ToolCall, 'toolCall', toolCallShape, (t) => ({
    arguments: t.field({
      type: 'JSONObject',
      nullable: true,
      description:
        'The arguments without presets, as requested or as an approver edited them; null when the model ' +
        'wrote invalid ones. writeOnly values are masked, except while the call waits for a client.',
      resolve: (call) =>
        call.arguments && call.status !== 'AWAITING_CLIENT'
          ? maskAt(call.arguments, call.masked)
          : call.arguments,
    }),
    summary: t.field({
      type: refs.CallSummary,
      description:
        'The call as one sentence for people: the name and the first arguments, writeOnly values left out. The summary of ' +
        'its approval also has the title of its gate.',
      resolve: ({ runtimeName, masked: paths, ...call }) =>
        summaryOf({
          runtimeName,
          arguments: call.arguments ?? {},
          editedArguments: null,
          masked: paths,
          question: null,
        }),
    }),
    attachments: t.field({
      type: [refs.File],
      description: 'The files attached to the call that still exist for this API key.',
      resolve: async ({ attachments }, _args, { loaders }) => {
        const found = await Promise.all((attachments ?? []).map(({ fileId }) => loaders.files.load(fileId)))
        return found.filter((file) => file !== null)
      },
    }),
    content: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The result as a list of MCP content blocks; null while the call is open.',
      resolve: (call) => call.result?.content ?? null,
    }),
    structuredContent: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The structured result as JSON; null when the tool returned none.',
      resolve: (call) => call.result?.structuredContent ?? null,
    }),
    editedArguments: t.field({
      type: ['String'],
      description: 'The names of the arguments that an approver changed.',
      resolve: (call) => call.editedKeys ?? [],
    }),
    tool: t.field({
      type: refs.Tool,
      nullable: true,
      description:
        'The tool as it is now; null when it was deleted, never existed or is hidden from this API key.',
      resolve: (call, _args, { loaders }) =>
        call.toolId && call.kind !== 'agent' ? loaders.tools.load(call.toolId) : null,
    }),
    askedAgent: t.field({
      type: refs.Agent,
      nullable: true,
      description: 'The called agent as it is now, when an agent calls an agent; null for a call of a tool.',
      resolve: (call, _args, { loaders }) =>
        call.kind === 'agent' ? loaders.agents.load(call.toolId!) : null,
    }),
  }))
  addQueries(refs)
}

function addQueries(refs: Refs): void {
  const connection = connectionOf(refs.ToolCall, 'ToolCall')
  addById(refs, {
    name: 'toolCall',
    type: refs.ToolCall,
    kind: 'toolCall',
    words: 'A tool call',
    permission: 'toolCalls:Get',
    action: shown.toolCall,
    load: ({ toolCalls }, id) => toolCalls.load(id),
  })
  addList(refs, {
    name: 'toolCalls',
    type: connection,
    description:
      'The tool calls of a project, newest first, those of generations and direct ones. Permission: toolCalls:List.',
    args: {
      filter: toolCallFilter.nullish().describe('Only calls that match all given fields.'),
    },
    action: shown.toolCall,
    list: listCalls,
  })
}

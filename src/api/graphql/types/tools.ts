/** Tools in GraphQL. */
import * as tools from '../../../domain/tools/index.ts'
import { actionMark, listOf, shown } from '../builder/action-mark.ts'
import { connectionOf, listCost, nameDescription, page } from '../builder/connections.ts'
import type { GateTypes } from './gates.ts'
import type { Refs } from '../builder/refs.ts'
import { addToolKinds } from './tool-kinds.ts'
import { addToolTypes } from './tool-objects.ts'

export function addTools(refs: Refs, gates: GateTypes): void {
  addToolKinds(refs, addToolTypes(refs, gates), gates)
  addToolQueries(refs)
}

const kindMeanings: Record<tools.ToolKind, string> = {
  http: 'Gatehouse calls an HTTP endpoint.',
  client: 'The client application runs the tool: a generation pauses until its output is submitted.',
  mcp: 'Gatehouse calls an upstream MCP server: each tool of the server is an action.',
  platform: 'Gatehouse runs its own operations: each is an action.',
}

function addToolQueries(refs: Refs): void {
  const { builder } = refs
  const connection = connectionOf(refs.Tool, 'Tool')
  const Kind = builder.enumType('ToolKind', {
    description: 'The kind of a tool, which decides where calls run.',
    values: Object.fromEntries(
      tools.toolKinds.map((kind) => [kind.toUpperCase(), { value: kind, description: kindMeanings[kind] }]),
    ) as Record<string, { value: tools.ToolKind }>,
  })
  builder.queryField('tool', (t) =>
    t.field({
      ...actionMark(shown.tool),
      type: refs.Tool,
      nullable: true,
      description: 'A tool by id; null when it does not exist for this API key. Permission: tools:Get.',
      args: { id: t.arg.id({ required: true, description: 'The id of the tool; it begins with tool_.' }) },
      resolve: (_root, { id }, { loaders }) => loaders.tools.load(id),
    }),
  )
  builder.queryField('tools', (t) =>
    t.field({
      ...actionMark(listOf(shown.tool)),
      type: connection,
      description: 'The tools of a project, newest first. Permission: tools:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        kind: t.arg({ type: Kind, description: 'Only tools of this kind.' }),
        name: t.arg.string({ description: nameDescription('tools') }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, kind, name, ...args }, { ctx }) =>
        page(args, (p) => tools.listTools(ctx, { projectId, kind: kind ?? null, name, page: p })),
    }),
  )
}

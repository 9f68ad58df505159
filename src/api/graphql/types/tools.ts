/** Tools in GraphQL: their kinds and queries. */
import { httpMethod, loadCallables, shownValues, type Tool } from '../../../domain/tools/index.ts'
import { hasPrefix, connectionOf, nameDescription } from '../builder/connections.ts'
import type { GateTypes } from './gates.ts'
import { addMcpTool } from './mcp-tools.ts'
import type { Refs } from '../builder/refs.ts'
import { addToolActions } from './tool-actions.ts'
import { addToolTypes } from './tool-objects.ts'
import { z } from 'zod'
import * as tools from '../../../domain/tools/index.ts'
import { shown } from '../builder/action-mark.ts'
import { addById, addList } from '../builder/queries.ts'

type Annotations = ReturnType<typeof addToolTypes>

/** Adds the object types. */
function addToolKinds(refs: Refs, annotations: Annotations, gates: GateTypes): void {
  const { builder } = refs
  refs.HttpTool.implement({
    description: 'A tool that calls an HTTP endpoint.',
    interfaces: [builder.nodeInterfaceRef(), refs.Tool],
    isTypeOf: (value) => hasPrefix(value, 'tool_') && (value as Tool).kind === 'http',
    fields: (t) => ({
      url: t.string({
        description:
          'The URL with {placeholders} for arguments. At its end {?a,b}, or {&a,b} behind a query, are arguments that the ' +
          'query has when they are given.',
        resolve: (tool) => tool.http!.url,
      }),
      method: t.field({
        type: refs.shapes.choice(httpMethod),
        description: 'The HTTP method of the request.',
        resolve: (tool) => tool.http!.method,
      }),
      headers: t.field({
        type: 'JSONObject',
        description:
          'Static headers by name, with {{secret:NAME}} not replaced. Values are masked for an API key ' +
          'without tools:Update.',
        resolve: (tool, _args, { ctx }) => shownValues(ctx, tool, tool.http!.headers),
      }),
    }),
  })
  refs.ClientTool.implement({
    description:
      'A tool that the client application runs: a generation pauses until its output is submitted.',
    interfaces: [builder.nodeInterfaceRef(), refs.Tool],
    isTypeOf: (value) => hasPrefix(value, 'tool_') && (value as Tool).kind === 'client',
  })
  const ToolAction = addToolActions(refs, annotations, gates)
  addPlatformTool(refs, ToolAction)
  addMcpTool(refs, ToolAction, gates)
}

function addPlatformTool(refs: Refs, ToolAction: ReturnType<typeof addToolActions>): void {
  const { builder } = refs
  refs.PlatformTool.implement({
    description: 'A tool that runs operations of Gatehouse in process, with the permissions of the caller.',
    interfaces: [builder.nodeInterfaceRef(), refs.Tool],
    isTypeOf: (value) => hasPrefix(value, 'tool_') && (value as Tool).kind === 'platform',
    fields: (t) => ({
      actions: t.field({
        type: [ToolAction],
        description: 'The actions that the tool offers, at most 200.',
        resolve: (tool, _args, { ctx }) => loadCallables(ctx, [tool]),
      }),
    }),
  })
}

/** Tools in GraphQL. */
export function addTools(refs: Refs, gates: GateTypes): void {
  addToolKinds(refs, addToolTypes(refs, gates), gates)
  addToolQueries(refs)
}

function addToolQueries(refs: Refs): void {
  const connection = connectionOf(refs.Tool, 'Tool')
  addById(refs, {
    name: 'tool',
    type: refs.Tool,
    kind: 'tool',
    words: 'A tool',
    permission: 'tools:Get',
    action: shown.tool,
    load: (loaders, id) => loaders.tools.load(id),
  })
  addList(refs, {
    name: 'tools',
    type: connection,
    description: 'The tools of a project, newest first. Permission: tools:List.',
    args: {
      kind: tools.toolKind.nullish().describe('Only tools of this kind.'),
      name: z.string().nullish().describe(nameDescription('tools')),
    },
    action: shown.tool,
    list: (ctx, { kind = null, ...input }) => tools.listTools(ctx, { ...input, kind }),
  })
}

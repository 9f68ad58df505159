/** The kinds of tools in GraphQL: the object type of each with its own fields. */
import { httpMethod, loadCallables, shownValues, type Tool } from '../../../domain/tools/index.ts'
import { hasPrefix } from '../builder/connections.ts'
import type { GateTypes } from './gates.ts'
import { addMcpTool } from './mcp-tools.ts'
import type { Refs } from '../builder/refs.ts'
import { addToolActions } from './tool-actions.ts'
import type { addToolTypes } from './tool-objects.ts'

type Annotations = ReturnType<typeof addToolTypes>

/** Adds the object types. */
export function addToolKinds(refs: Refs, annotations: Annotations, gates: GateTypes): void {
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

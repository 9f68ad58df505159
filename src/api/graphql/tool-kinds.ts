/** The kinds of tools: what each shows beside what all show, and how it is written. */
import { loadCallables, shownValues, type Tool } from '../../domain/tools/index.ts'
import { hasPrefix } from './connections.ts'
import { described } from './described.ts'
import type { GateTypes } from './gates.ts'
import { addMcpTool } from './mcp-tools.ts'
import type { Refs } from './refs.ts'
import { addToolActions } from './tool-actions.ts'
import type { addToolTypes } from './tool-objects.ts'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

type Annotations = ReturnType<typeof addToolTypes>['Annotations']

/** Adds the kinds and answers the input that says which kind a tool is. */
export function addToolKinds(refs: Refs, annotations: Annotations, gates: GateTypes) {
  const { builder } = refs
  const Method = builder.enumType('HttpMethod', {
    description: 'The method of an http tool.',
    values: described(methods, {
      GET: 'Arguments beyond the placeholders go into the query. May be repeated after a crash.',
      HEAD: 'As GET, for the status alone.',
      POST: 'Arguments beyond the placeholders are the JSON body.',
      PUT: 'As POST.',
      PATCH: 'As POST.',
      DELETE: 'Arguments beyond the placeholders go into the query.',
    }),
  })
  refs.HttpTool.implement({
    description: 'A tool that calls an http endpoint.',
    interfaces: [builder.nodeInterfaceRef(), refs.Tool],
    isTypeOf: (value) => hasPrefix(value, 'tool_') && (value as Tool).kind === 'http',
    fields: (t) => ({
      url: t.string({ description: 'With {placeholders} for arguments.', resolve: (tool) => tool.http!.url }),
      method: t.field({ type: Method, description: 'The method.', resolve: (tool) => tool.http!.method }),
      headers: t.field({
        type: 'JSONObject',
        description:
          'Static headers by name, with {{secret:NAME}} unfilled. Masked for a key that may not update the tool.',
        resolve: (tool, _args, { ctx }) => shownValues(ctx, tool, tool.http!.headers),
      }),
    }),
  })
  refs.ClientTool.implement({
    description: 'A tool that the calling application runs: a generation pauses for its output.',
    interfaces: [builder.nodeInterfaceRef(), refs.Tool],
    isTypeOf: (value) => hasPrefix(value, 'tool_') && (value as Tool).kind === 'client',
  })
  const ToolAction = addToolActions(refs, annotations, gates)
  addPlatformTool(refs, ToolAction)
  const Mcp = addMcpTool(refs, ToolAction, gates)
  const Http = builder.inputType('HttpToolConfigInput', {
    description: 'An http endpoint.',
    fields: (t) => ({
      url: t.string({
        required: true,
        description: 'Absolute; {name} in path or query is replaced by the argument.',
      }),
      method: t.field({ type: Method, description: 'POST when left out.' }),
      headers: t.field({
        type: 'JSONObject',
        description: 'Static headers by name; {{secret:NAME}} in a value is filled in at the last moment.',
      }),
      inputSchema: t.field({
        type: 'JSONSchema',
        required: true,
        description: 'The arguments, presets included.',
      }),
    }),
  })
  const Client = builder.inputType('ClientToolConfigInput', {
    description: 'A tool that the calling application runs.',
    fields: (t) => ({
      inputSchema: t.field({
        type: 'JSONSchema',
        required: true,
        description: 'The arguments, presets included.',
      }),
    }),
  })
  const Platform = builder.inputType('PlatformToolConfigInput', {
    description: 'Operations of Gatehouse itself. They run with the rights of whoever asked for the call.',
    fields: (t) => ({
      actions: t.stringList({
        required: true,
        description: 'Names of platform actions, 1 to 200; see platformActions.',
      }),
    }),
  })
  return builder.inputType('ToolConfigInput', {
    description: 'Exactly one kind of tool.',
    isOneOf: true,
    fields: (t) => ({
      http: t.field({ type: Http, description: 'Calls an http endpoint.' }),
      client: t.field({ type: Client, description: 'Runs in the calling application.' }),
      mcp: t.field({ type: Mcp, description: 'Serves the tools of a foreign MCP server.' }),
      platform: t.field({ type: Platform, description: 'Runs operations of Gatehouse itself.' }),
    }),
  })
}

function addPlatformTool(refs: Refs, ToolAction: ReturnType<typeof addToolActions>): void {
  const { builder } = refs
  refs.PlatformTool.implement({
    description:
      'A tool that runs operations of Gatehouse itself, in process, with the rights of whoever asked for the call.',
    interfaces: [builder.nodeInterfaceRef(), refs.Tool],
    isTypeOf: (value) => hasPrefix(value, 'tool_') && (value as Tool).kind === 'platform',
    fields: (t) => ({
      actions: t.field({
        type: [ToolAction],
        description: 'What it offers, at most 200.',
        resolve: (tool, _args, { ctx }) => loadCallables(ctx, [tool]),
      }),
    }),
  })
}

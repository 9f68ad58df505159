/** The kinds of tools in GraphQL: the object type of each with its own fields, and the input types of their configs. */
import { loadCallables, shownValues, type Tool } from '../../../domain/tools/index.ts'
import { hasPrefix } from '../builder/connections.ts'
import { described } from '../builder/described.ts'
import type { GateTypes } from './gates.ts'
import { addMcpTool } from './mcp-tools.ts'
import type { Refs } from '../builder/refs.ts'
import { addToolActions } from './tool-actions.ts'
import type { addToolTypes } from './tool-objects.ts'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

type Annotations = ReturnType<typeof addToolTypes>['Annotations']

/** Adds the object types and returns the input type that selects a kind. */
export function addToolKinds(refs: Refs, annotations: Annotations, gates: GateTypes) {
  const { builder } = refs
  const Method = builder.enumType('HttpMethod', {
    description: 'The HTTP method of an http tool.',
    values: described(methods, {
      GET:
        'The request is a GET: arguments that are no placeholders go into the query. A call may be repeated ' +
        'after a crash.',
      HEAD: 'The request is a HEAD: arguments as for GET, and the result is the status alone.',
      POST: 'The request is a POST: arguments that are no placeholders are the JSON body.',
      PUT: 'The request is a PUT: arguments as for POST.',
      PATCH: 'The request is a PATCH: arguments as for POST.',
      DELETE: 'The request is a DELETE: arguments that are no placeholders go into the query.',
    }),
  })
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
        type: Method,
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
  const Mcp = addMcpTool(refs, ToolAction, gates)
  const Http = builder.inputType('HttpToolConfigInput', {
    description: 'The config of an http tool.',
    fields: (t) => ({
      url: t.string({
        required: true,
        description: 'The absolute URL; {name} in path or query is replaced by the argument of that name.',
      }),
      method: t.field({ type: Method, description: 'The HTTP method of the request. Default: POST.' }),
      headers: t.field({
        type: 'JSONObject',
        description:
          'Static headers by name. {{secret:NAME}} in a value is replaced by the secret when a request is sent.',
      }),
      inputSchema: t.field({
        type: 'JSONSchema',
        required: true,
        description: 'The JSON Schema of the arguments, preset parameters included.',
      }),
    }),
  })
  const Client = builder.inputType('ClientToolConfigInput', {
    description: 'The config of a client tool, which the client application runs.',
    fields: (t) => ({
      inputSchema: t.field({
        type: 'JSONSchema',
        required: true,
        description: 'The JSON Schema of the arguments, preset parameters included.',
      }),
    }),
  })
  const Platform = builder.inputType('PlatformToolConfigInput', {
    description:
      'The config of a platform tool: operations of Gatehouse, run with the permissions of the caller.',
    fields: (t) => ({
      actions: t.stringList({
        required: true,
        description: 'Names of platform actions, 1 to 200; the query platformActions lists them.',
      }),
    }),
  })
  return builder.inputType('ToolConfigInput', {
    description: 'The config of a tool: exactly one kind.',
    isOneOf: true,
    fields: (t) => ({
      http: t.field({ type: Http, description: 'A tool that calls an HTTP endpoint.' }),
      client: t.field({ type: Client, description: 'A tool that the client application runs.' }),
      mcp: t.field({ type: Mcp, description: 'A tool that serves the tools of an upstream MCP server.' }),
      platform: t.field({ type: Platform, description: 'A tool that runs operations of Gatehouse.' }),
    }),
  })
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

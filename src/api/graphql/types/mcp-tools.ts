/** The kind mcp of tools in GraphQL: its connection, its gates and the actions that it serves. */
import type { GatePolicy } from '../../../domain/gates/index.ts'
import { loadCallables, shownValues, type Tool } from '../../../domain/tools/index.ts'
import { hasPrefix } from '../builder/connections.ts'
import type { GateTypes } from './gates.ts'
import type { Refs } from '../builder/refs.ts'
import type { addToolActions } from './tool-actions.ts'
import { addUpstreamAuth, authOf } from './upstream-auth.ts'
import { addUpstreams } from './upstreams.ts'

/** Adds McpTool and returns the input type of its config. */
export function addMcpTool(refs: Refs, ToolAction: ReturnType<typeof addToolActions>, gates: GateTypes) {
  const { builder } = refs
  const Auth = addUpstreamAuth(refs)
  addUpstreams(refs, Auth.Input)
  const Gate = builder.objectRef<{ action: string; gate: GatePolicy }>('ActionGate').implement({
    description: 'The gate of one action of a tool.',
    fields: (t) => ({
      action: t.exposeString('action', { description: 'The name of the action.' }),
      gate: t.field({
        type: gates.Policy,
        description: 'The policy that stops calls of the action for approval.',
        resolve: ({ gate }) => ({ ...gate, source: 'OPERATOR' as const }),
      }),
    }),
  })
  const Relay = builder.objectRef<{ resources: string[]; prompts: string[] }>('McpRelay').implement({
    description:
      'The resources and prompts of an upstream MCP server that clients of the bridge may read. Only what a ' +
      'pattern matches is relayed.',
    fields: (t) => ({
      resources: t.exposeStringList('resources', {
        description: 'Patterns of resource URIs, in which * stands for any text.',
      }),
      prompts: t.exposeStringList('prompts', {
        description: 'Patterns of prompt names of the server, in which * stands for any text.',
      }),
    }),
  })
  refs.McpTool.implement({
    description:
      'An upstream MCP server as a tool: each tool of the server is an action, which models see as ' +
      '{name}_{mcpToolName}.',
    interfaces: [builder.nodeInterfaceRef(), refs.Tool],
    isTypeOf: (value) => hasPrefix(value, 'tool_') && (value as Tool).kind === 'mcp',
    fields: (t) => ({
      url: t.string({
        description: 'The URL of the server, with {{secret:NAME}} not replaced.',
        resolve: (tool) => tool.mcp!.url,
      }),
      headers: t.field({
        type: 'JSONObject',
        description:
          'Static headers by name, with {{secret:NAME}} not replaced. Values are masked for an API key ' +
          'without tools:Update.',
        resolve: (tool, _args, { ctx }) => shownValues(ctx, tool, tool.mcp!.headers),
      }),
      auth: t.field({
        type: Auth.Object,
        nullable: true,
        description:
          'How Gatehouse authenticates to the server (OAuth); null: only with tokens of connectUpstream, ' +
          'when a person logged in.',
        resolve: (tool) => tool.mcp!.auth,
      }),
      allow: t.stringList({
        nullable: true,
        description: 'Names of the tools of the server that are served; null: all.',
        resolve: (tool) => tool.mcp!.allow,
      }),
      deny: t.stringList({
        description: 'Names of the tools of the server that are never served.',
        resolve: (tool) => tool.mcp!.deny,
      }),
      gates: t.field({
        type: [Gate],
        description: 'Gates of single actions; every other action has the gate of the tool.',
        resolve: (tool) => Object.entries(tool.mcp!.gates).map(([action, gate]) => ({ action, gate })),
      }),
      relay: t.field({
        type: Relay,
        description: 'The resources and prompts of the server that clients of the bridge may read.',
        resolve: (tool) => tool.mcp!.relay ?? { resources: [], prompts: [] },
      }),
      trustHints: t.boolean({
        description:
          'Whether readOnlyHint and idempotentHint of the server decide if a call is repeated after a crash.',
        resolve: (tool) => tool.mcp!.trustHints,
      }),
      actions: t.field({
        type: [ToolAction],
        description: 'The actions that the tool serves, from the last discovery, at most 1,000.',
        resolve: (tool, _args, { ctx }) => loadCallables(ctx, [tool]),
      }),
    }),
  })
  return addInput(refs, Auth.Input, gates)
}

function addInput(refs: Refs, Auth: ReturnType<typeof addUpstreamAuth>['Input'], gates: GateTypes) {
  const { builder } = refs
  const Gate = builder.inputType('ActionGateInput', {
    description: 'The gate of one action of an mcp tool.',
    fields: (t) => ({
      action: t.string({ required: true, description: 'The name of the tool at the upstream server.' }),
      gate: t.field({
        type: gates.Input,
        required: true,
        description: 'The policy that stops calls of the action for approval.',
      }),
    }),
  })
  const Relay = builder.inputType('McpRelayInput', {
    description:
      'The resources and prompts of an upstream MCP server that clients of the bridge may read. In a ' +
      'pattern, * stands for any text.',
    fields: (t) => ({
      resources: t.stringList({
        description: 'Patterns of resource URIs, such as ["*"] or ["docs://public/*"]. Default: none.',
      }),
      prompts: t.stringList({
        description: 'Patterns of prompt names of the server, such as ["*"]. Default: none.',
      }),
    }),
  })
  return builder.inputType('McpToolConfigInput', {
    description: 'An upstream MCP server (Streamable HTTP of any revision, or HTTP with SSE).',
    fields: (t) => ({
      url: t.string({
        required: true,
        description:
          'The absolute URL of the server, or connector:NAME for one that gatehouse connect offers. {{secret:NAME}} after the host is replaced by the secret when a ' +
          'request is sent.',
      }),
      headers: t.field({
        type: 'JSONObject',
        description:
          'Static headers by name. {{secret:NAME}} in a value is replaced by the secret when a request is sent.',
      }),
      auth: t.field({
        type: Auth,
        description: 'How Gatehouse authenticates to the server (OAuth). Default: no authentication.',
      }),
      allow: t.stringList({ description: 'Names of the tools of the server to serve. Default: all.' }),
      deny: t.stringList({ description: 'Names of the tools of the server never to serve. Default: none.' }),
      gates: t.field({
        type: [Gate],
        description: 'Gates of single actions; every other action has the gate of the tool.',
      }),
      relay: t.field({
        type: Relay,
        description:
          'The resources and prompts that clients of the bridge may read; each read is a call that the gate ' +
          'of the tool can stop. Default: none.',
      }),
      trustHints: t.boolean({
        description:
          'Whether readOnlyHint and idempotentHint of the server decide if a call is repeated after a crash. ' +
          'Default: false.',
      }),
    }),
  })
}

/** Converts the input of an mcp tool to the config of the domain. */
export function mcpConfigOf(given: ReturnType<typeof addInput>['$inferInput']) {
  const { auth, ...rest } = given
  return {
    ...rest,
    auth: auth ? authOf(auth) : null,
  }
}

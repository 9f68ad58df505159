/** Tools of foreign MCP servers on the wire: how they are reached, and which of them are served how. */
import { loadCallables, shownValues, type GatePolicy, type Tool } from '../../domain/tools/index.ts'
import { hasPrefix } from './connections.ts'
import type { GateTypes } from './gates.ts'
import type { Refs } from './refs.ts'
import type { addToolActions } from './tool-actions.ts'
import { addUpstreamAuth, authOf } from './upstream-auth.ts'
import { addUpstreams } from './upstreams.ts'

/** Adds the kind and answers the input that describes one. */
export function addMcpTool(refs: Refs, ToolAction: ReturnType<typeof addToolActions>, gates: GateTypes) {
  const { builder } = refs
  const Auth = addUpstreamAuth(refs)
  addUpstreams(refs, Auth.Input)
  const Gate = builder.objectRef<{ action: string; gate: GatePolicy }>('ActionGate').implement({
    description: 'The gate of one action of a tool.',
    fields: (t) => ({
      action: t.exposeString('action', { description: 'The name in the tool.' }),
      gate: t.field({
        type: gates.Policy,
        description: 'When a human must agree.',
        resolve: ({ gate }) => ({ ...gate, source: 'OPERATOR' as const }),
      }),
    }),
  })
  const Relay = builder.objectRef<{ resources: string[]; prompts: string[] }>('McpRelay').implement({
    description:
      'What of a foreign MCP server is relayed beside its tools. Nothing is that no pattern names.',
    fields: (t) => ({
      resources: t.exposeStringList('resources', { description: 'Resources by URI, as patterns with *.' }),
      prompts: t.exposeStringList('prompts', {
        description: 'Prompts by their name there, as patterns with *.',
      }),
    }),
  })
  refs.McpTool.implement({
    description:
      'A foreign MCP server: each of its tools is an action, which models see as {name}_{mcpToolName}.',
    interfaces: [builder.nodeInterfaceRef(), refs.Tool],
    isTypeOf: (value) => hasPrefix(value, 'tool_') && (value as Tool).kind === 'mcp',
    fields: (t) => ({
      url: t.string({
        description: 'Its address, with {{secret:NAME}} unfilled.',
        resolve: (tool) => tool.mcp!.url,
      }),
      headers: t.field({
        type: 'JSONObject',
        description:
          'Static headers by name, with {{secret:NAME}} unfilled. Masked for a key that may not update the tool.',
        resolve: (tool, _args, { ctx }) => shownValues(ctx, tool, tool.mcp!.headers),
      }),
      auth: t.field({
        type: Auth.Object,
        nullable: true,
        description: 'How we prove who we are; null: not at all, unless somebody logs in.',
        resolve: (tool) => tool.mcp!.auth,
      }),
      allow: t.stringList({
        nullable: true,
        description: 'Names of its tools that are served; null serves all.',
        resolve: (tool) => tool.mcp!.allow,
      }),
      deny: t.stringList({
        description: 'Names of its tools that are never served.',
        resolve: (tool) => tool.mcp!.deny,
      }),
      gates: t.field({
        type: [Gate],
        description: 'Gates of single actions; the others have the gate of the tool.',
        resolve: (tool) => Object.entries(tool.mcp!.gates).map(([action, gate]) => ({ action, gate })),
      }),
      relay: t.field({
        type: Relay,
        description: 'What else of it clients of the bridge may read, beside its tools.',
        resolve: (tool) => tool.mcp!.relay ?? { resources: [], prompts: [] },
      }),
      trustHints: t.boolean({
        description: 'Whether its readOnlyHint and idempotentHint let a call be repeated after a crash.',
        resolve: (tool) => tool.mcp!.trustHints,
      }),
      actions: t.field({
        type: [ToolAction],
        description: 'What it serves, as it was seen last, at most 1,000.',
        resolve: (tool, _args, { ctx }) => loadCallables(ctx, [tool]),
      }),
    }),
  })
  return addInput(refs, Auth.Input, gates)
}

function addInput(refs: Refs, Auth: ReturnType<typeof addUpstreamAuth>['Input'], gates: GateTypes) {
  const { builder } = refs
  const Gate = builder.inputType('ActionGateInput', {
    description: 'The gate of one action.',
    fields: (t) => ({
      action: t.string({ required: true, description: 'The name of the tool at the server.' }),
      gate: t.field({ type: gates.Input, required: true, description: 'When a human must agree.' }),
    }),
  })
  const Relay = builder.inputType('McpRelayInput', {
    description:
      'What of a foreign MCP server is relayed beside its tools. In a pattern * stands for any text.',
    fields: (t) => ({
      resources: t.stringList({
        description: 'Resources by URI, as ["*"] or ["docs://public/*"]; none when left out.',
      }),
      prompts: t.stringList({ description: 'Prompts by their name there, as ["*"]; none when left out.' }),
    }),
  })
  return builder.inputType('McpToolConfigInput', {
    description: 'A foreign MCP server (Streamable HTTP of any revision, or HTTP with SSE).',
    fields: (t) => ({
      url: t.string({
        required: true,
        description: 'Absolute; {{secret:NAME}} behind the host is filled in at the last moment.',
      }),
      headers: t.field({
        type: 'JSONObject',
        description: 'Static headers by name; {{secret:NAME}} in a value is filled in at the last moment.',
      }),
      auth: t.field({
        type: Auth,
        description: 'How to prove who we are (OAuth); not at all when left out.',
      }),
      allow: t.stringList({ description: 'Names of its tools to serve; all when left out.' }),
      deny: t.stringList({ description: 'Names of its tools never to serve.' }),
      gates: t.field({
        type: [Gate],
        description: 'Gates of single actions; the others have the gate of the tool.',
      }),
      relay: t.field({
        type: Relay,
        description:
          'Lets clients of the bridge read resources and prompts of it, each read as a call behind the gate of the tool. Nothing when left out.',
      }),
      trustHints: t.boolean({
        description: 'true: its hints say which calls may be repeated after a crash. false when left out.',
      }),
    }),
  })
}

/** The input as the domain takes it. */
export function mcpConfigOf(given: ReturnType<typeof addInput>['$inferInput']) {
  const { auth, ...rest } = given
  return {
    ...rest,
    auth: auth ? authOf(auth) : null,
  }
}

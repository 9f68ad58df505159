/** The interface Tool, the types that all kinds of tools share, and the versions of tools and agents. */
import {
  annotations,
  shownFullSchema,
  shownSchema,
  hasActions,
  shownValues,
  toolKinds,
  taskDefaults,
  toolFields,
  type Tool,
  taskPolicy,
  registryEntry,
  listToolVersions,
  versionShape,
} from '../../../domain/tools/index.ts'
import type { Refs } from '../builder/refs.ts'
import { gateOf } from '../../../domain/gates/index.ts'
import type { GateTypes } from './gates.ts'
import { listAgentVersions } from '../../../domain/agents/index.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'

export function addToolTypes(refs: Refs, gates: GateTypes) {
  const { builder, shapes } = refs
  const Annotations = builder.objectRef<Tool['annotations']>('ToolAnnotations').implement({
    description:
      'Hints about the behaviour of a tool, as in MCP; null: no hint. Tool.idempotent, when null, follows ' +
      'readOnlyHint and idempotentHint.',
    fields: (t) => shapes.fields(t, annotations),
  })
  refs.Tool.implement({
    description: 'A stored tool. The kind decides where calls run.',
    interfaces: [builder.nodeInterfaceRef()],
    resolveType: ({ kind }) => toolKinds[kind].object.name,
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the tool; it begins with tool_.' }),
      ...shapes.storedFields(t, toolFields),
      inputSchema: t.field({
        type: 'JSONSchema',
        nullable: true,
        description:
          'The JSON Schema of the arguments as models and clients see it, without preset parameters. Null ' +
          'for mcp and platform tools: each action has its own.',
        resolve: (tool) => (hasActions(tool.kind) ? null : shownSchema(tool)),
      }),
      fullInputSchema: t.field({
        type: 'JSONSchema',
        nullable: true,
        description:
          'The JSON Schema of the arguments with preset parameters, as updateTool takes it. Null for mcp and ' +
          'platform tools, and for an API key without tools:Update.',
        resolve: (tool, _args, { ctx }) => shownFullSchema(ctx, tool),
      }),
      annotations: t.expose('annotations', {
        type: Annotations,
        description: 'Hints about the behaviour of the tool, as in MCP.',
      }),
      presetParameters: t.field({
        type: 'JSONObject',
        description:
          'Fixed arguments by name: hidden from models and clients, and not to be overridden. Values are ' +
          'masked for an API key without tools:Update.',
        resolve: (tool, _args, { ctx }) => shownValues(ctx, tool, tool.presetParameters),
      }),
      gate: t.field({
        type: gates.Policy,
        description: 'The policy that stops calls for approval.',
        resolve: gateOf,
      }),
      task: t.field({
        type: shapes.object(taskPolicy),
        description: 'How calls over MCP become tasks.',
        resolve: (tool) => tool.task ?? taskDefaults,
      }),
      registryEntry: t.expose('registryEntry', {
        type: shapes.object(registryEntry),
        nullable: true,
        description: 'The entry of an MCP registry that the tool was imported from; null: it was not.',
      }),
      version: t.exposeInt('version', {
        description: 'The version of the tool; every update increments it.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the tool was created.' }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the tool was last changed.' }),
    }),
  })
  return Annotations
}

/** Adds versions to Tool and Agent. */
export function addVersions(refs: Refs): void {
  const { builder } = refs
  const connection = connectionOf(refs.shapes.object(versionShape), 'Version')
  builder.interfaceField(refs.Tool, 'versions', (t) =>
    t.field({
      type: connection,
      description:
        'The versions of the tool, newest first; calls and approvals name theirs as toolVersion. Values of presets and ' +
        'headers are masked for an API key without tools:Update.',
      args: t.arg.connectionArgs(),
      complexity: listCost,
      resolve: (tool, args, { ctx }) => page(args, (p) => listToolVersions(ctx, tool, p)),
    }),
  )
  builder.objectField(refs.Agent, 'versions', (t) =>
    t.field({
      type: connection,
      description: 'The versions of the agent, newest first; generations name theirs in GenerationInput.',
      args: t.arg.connectionArgs(),
      complexity: listCost,
      resolve: (agent, args, { ctx }) => page(args, (p) => listAgentVersions(ctx, agent, p)),
    }),
  )
}

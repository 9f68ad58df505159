/** The interface Tool, and the types that all kinds of tools share. */
import { gateOf } from '../../../domain/gates/index.ts'
import {
  shownFullSchema,
  shownSchema,
  shownValues,
  taskDefaults,
  type Tool,
} from '../../../domain/tools/index.ts'
import type { GateTypes } from './gates.ts'
import type { Refs } from '../builder/refs.ts'
import { addTaskPolicy } from './task-policy.ts'

const typeNames = {
  http: 'HttpTool',
  client: 'ClientTool',
  mcp: 'McpTool',
  platform: 'PlatformTool',
} as const

export function addToolTypes(refs: Refs, gates: GateTypes) {
  const { builder } = refs
  const annotationMeanings = {
    title: 'The display name of the tool, as in MCP.',
    readOnlyHint: 'Whether the tool only reads and changes nothing.',
    destructiveHint: 'Whether the tool may perform destructive updates.',
    idempotentHint: 'Whether repeating a call with the same arguments has no further effect.',
    openWorldHint: 'Whether the tool interacts with an open world of external entities.',
  }
  const Annotations = builder.objectRef<Tool['annotations']>('ToolAnnotations').implement({
    description:
      'Hints about the behaviour of a tool, as in MCP; null: no hint. Tool.idempotent, when null, follows ' +
      'readOnlyHint and idempotentHint.',
    fields: (t) => ({
      title: t.string({
        nullable: true,
        description: annotationMeanings.title,
        resolve: (a) => a.title ?? null,
      }),
      readOnlyHint: t.boolean({
        nullable: true,
        description: annotationMeanings.readOnlyHint,
        resolve: (a) => a.readOnlyHint ?? null,
      }),
      destructiveHint: t.boolean({
        nullable: true,
        description: annotationMeanings.destructiveHint,
        resolve: (a) => a.destructiveHint ?? null,
      }),
      idempotentHint: t.boolean({
        nullable: true,
        description: annotationMeanings.idempotentHint,
        resolve: (a) => a.idempotentHint ?? null,
      }),
      openWorldHint: t.boolean({
        nullable: true,
        description: annotationMeanings.openWorldHint,
        resolve: (a) => a.openWorldHint ?? null,
      }),
    }),
  })
  const Task = addTaskPolicy(refs)
  refs.Tool.implement({
    description: 'A stored tool. The kind decides where calls run.',
    interfaces: [builder.nodeInterfaceRef()],
    resolveType: ({ kind }) => typeNames[kind],
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the tool; it begins with tool_.' }),
      name: t.exposeString('name', {
        description:
          'The name of the tool, unique in the project. Models see it, or {name}_{action} for a tool with actions.',
      }),
      title: t.exposeString('title', {
        nullable: true,
        description: 'The display name of the tool; null when it has none.',
      }),
      description: t.exposeString('description', {
        nullable: true,
        description: 'The description that the model reads to choose the tool; null when it has none.',
      }),
      inputSchema: t.field({
        type: 'JSONSchema',
        nullable: true,
        description:
          'The JSON Schema of the arguments as models and clients see it, without preset parameters. Null ' +
          'for mcp and platform tools: each action has its own.',
        resolve: (tool) => (tool.platform || tool.mcp ? null : shownSchema(tool)),
      }),
      fullInputSchema: t.field({
        type: 'JSONSchema',
        nullable: true,
        description:
          'The JSON Schema of the arguments with preset parameters, as updateTool takes it. Null for mcp and ' +
          'platform tools, and for an API key without tools:Update.',
        resolve: (tool, _args, { ctx }) => shownFullSchema(ctx, tool),
      }),
      outputSchema: t.expose('outputSchema', {
        type: 'JSONSchema',
        nullable: true,
        description: 'The JSON Schema of a structured result; null: none.',
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
      timeoutMs: t.exposeInt('timeoutMs', {
        nullable: true,
        description: 'Maximum time of one call in milliseconds; null: that of the installation.',
      }),
      idempotent: t.exposeBoolean('idempotent', {
        nullable: true,
        description: 'Whether a call may be repeated after a crash; null: by HTTP method and annotations.',
      }),
      gate: t.field({
        type: gates.Policy,
        description: 'The policy that stops calls for approval.',
        resolve: gateOf,
      }),
      agentsOnly: t.boolean({
        description:
          'Whether only agents may call the tool: callTool is refused, so that the gate of an agent applies.',
        resolve: (tool) => tool.agentsOnly ?? false,
      }),
      task: t.field({
        type: Task.Object,
        description: 'How calls over MCP become tasks.',
        resolve: (tool) => tool.task ?? taskDefaults,
      }),
      version: t.exposeInt('version', {
        description: 'The version of the tool; every update increments it.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the tool was created.' }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the tool was last changed.' }),
    }),
  })
  const AnnotationsInput = builder.inputType('ToolAnnotationsInput', {
    description: 'Hints about the behaviour of a tool, as in MCP; left out or null: no hint.',
    fields: (t) => ({
      title: t.string({ description: annotationMeanings.title }),
      readOnlyHint: t.boolean({ description: annotationMeanings.readOnlyHint }),
      destructiveHint: t.boolean({ description: annotationMeanings.destructiveHint }),
      idempotentHint: t.boolean({ description: annotationMeanings.idempotentHint }),
      openWorldHint: t.boolean({ description: annotationMeanings.openWorldHint }),
    }),
  })
  return { TaskInput: Task.Input, Annotations, AnnotationsInput, GateInput: gates.Input }
}

/** What every tool shows of itself, and the inputs that its mutations share. */
import { gateOf, shownSchema, shownValues, taskDefaults, type Tool } from '../../domain/tools/index.ts'
import type { GateTypes } from './gates.ts'
import type { Refs } from './refs.ts'
import { addTaskPolicy } from './task-policy.ts'

const typeNames = {
  http: 'HttpTool',
  client: 'ClientTool',
  mcp: 'McpTool',
  platform: 'PlatformTool',
} as const

export function addToolTypes(refs: Refs, gates: GateTypes) {
  const { builder } = refs
  const annotationNames = {
    title: 'A name for people.',
    readOnlyHint: 'The tool changes nothing.',
    destructiveHint: 'The tool may destroy something.',
    idempotentHint: 'Repeating a call changes nothing more.',
    openWorldHint: 'The tool reaches beyond a closed world.',
  }
  const Annotations = builder.objectRef<Tool['annotations']>('ToolAnnotations').implement({
    description:
      'Hints in the words of MCP. readOnlyHint and idempotentHint decide idempotent when it is not set.',
    fields: (t) => ({
      title: t.string({
        nullable: true,
        description: annotationNames.title,
        resolve: (a) => a.title ?? null,
      }),
      readOnlyHint: t.boolean({
        nullable: true,
        description: annotationNames.readOnlyHint,
        resolve: (a) => a.readOnlyHint ?? null,
      }),
      destructiveHint: t.boolean({
        nullable: true,
        description: annotationNames.destructiveHint,
        resolve: (a) => a.destructiveHint ?? null,
      }),
      idempotentHint: t.boolean({
        nullable: true,
        description: annotationNames.idempotentHint,
        resolve: (a) => a.idempotentHint ?? null,
      }),
      openWorldHint: t.boolean({
        nullable: true,
        description: annotationNames.openWorldHint,
        resolve: (a) => a.openWorldHint ?? null,
      }),
    }),
  })
  const Task = addTaskPolicy(refs)
  refs.Tool.implement({
    description: 'A stored tool. Its kind decides where it runs.',
    interfaces: [builder.nodeInterfaceRef()],
    resolveType: ({ kind }) => typeNames[kind],
    fields: (t) => ({
      id: t.exposeID('id', { description: 'Begins with tool_.' }),
      name: t.exposeString('name', {
        description:
          'Unique in the project. The name that the model sees, or of several actions the first part of it.',
      }),
      title: t.exposeString('title', { nullable: true, description: 'A name for people.' }),
      description: t.exposeString('description', {
        nullable: true,
        description: 'What the model reads to choose the tool.',
      }),
      inputSchema: t.field({
        type: 'JSONSchema',
        nullable: true,
        description:
          'What the model or client sees of the arguments: presets are not in it. null for a tool with several actions: each has its own.',
        resolve: (tool) => (tool.platform || tool.mcp ? null : shownSchema(tool)),
      }),
      outputSchema: t.expose('outputSchema', {
        type: 'JSONSchema',
        nullable: true,
        description: 'What a structured result must fit.',
      }),
      annotations: t.expose('annotations', { type: Annotations, description: 'Hints for clients.' }),
      presetParameters: t.field({
        type: 'JSONObject',
        description:
          'Fixed arguments: hidden from the model, always ours. Their values are masked for a key that may not update the tool.',
        resolve: (tool, _args, { ctx }) => shownValues(ctx, tool, tool.presetParameters),
      }),
      timeoutMs: t.exposeInt('timeoutMs', {
        nullable: true,
        description: "Milliseconds for one call; null: the installation's default.",
      }),
      idempotent: t.exposeBoolean('idempotent', {
        nullable: true,
        description: 'Whether a call may be repeated after a crash; null: by method and annotations.',
      }),
      gate: t.field({
        type: gates.Policy,
        description: 'When a human must agree to a call.',
        resolve: gateOf,
      }),
      agentsOnly: t.boolean({
        description:
          'Whether calls come from agents only, so that the gate of an agent cannot be gone around.',
        resolve: (tool) => tool.agentsOnly ?? false,
      }),
      task: t.field({
        type: Task.Object,
        description: 'How calls over MCP become tasks.',
        resolve: (tool) => tool.task ?? taskDefaults,
      }),
      version: t.exposeInt('version', { description: 'Raised by every update.' }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
    }),
  })
  const AnnotationsInput = builder.inputType('ToolAnnotationsInput', {
    description: 'Hints in the words of MCP.',
    fields: (t) => ({
      title: t.string({ description: annotationNames.title }),
      readOnlyHint: t.boolean({ description: annotationNames.readOnlyHint }),
      destructiveHint: t.boolean({ description: annotationNames.destructiveHint }),
      idempotentHint: t.boolean({ description: annotationNames.idempotentHint }),
      openWorldHint: t.boolean({ description: annotationNames.openWorldHint }),
    }),
  })
  return { TaskInput: Task.Input, Annotations, AnnotationsInput, GateInput: gates.Input }
}

/** What a tool shows of itself, and the inputs that its mutations share. */
import { gateOf, shownSchema, type Tool } from '../../domain/tools/index.ts'
import { hasPrefix } from './connections.ts'
import { described } from './described.ts'
import type { GateTypes } from './gates.ts'
import type { Refs } from './refs.ts'

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
  refs.Tool.implement({
    description: 'A stored tool. Its kind decides where it runs.',
    interfaces: [builder.nodeInterfaceRef()],
    resolveType: (tool) => (tool.kind === 'http' ? 'HttpTool' : 'ClientTool'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'Begins with tool_.' }),
      name: t.exposeString('name', { description: 'Unique in the project; the name that the model sees.' }),
      title: t.exposeString('title', { nullable: true, description: 'A name for people.' }),
      description: t.exposeString('description', {
        nullable: true,
        description: 'What the model reads to choose the tool.',
      }),
      inputSchema: t.field({
        type: 'JSONSchema',
        description: 'What the model or client sees of the arguments: presets are not in it.',
        resolve: shownSchema,
      }),
      outputSchema: t.expose('outputSchema', {
        type: 'JSONSchema',
        nullable: true,
        description: 'What a structured result must fit.',
      }),
      annotations: t.expose('annotations', { type: Annotations, description: 'Hints for clients.' }),
      presetParameters: t.expose('presetParameters', {
        type: 'JSONObject',
        description: 'Fixed arguments: hidden from the model, always ours.',
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
      version: t.exposeInt('version', { description: 'Raised by every update.' }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
    }),
  })
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
        description: 'Static headers by name, with {{secret:NAME}} unfilled.',
        resolve: (tool) => tool.http!.headers,
      }),
    }),
  })
  refs.ClientTool.implement({
    description: 'A tool that the calling application runs: a generation pauses for its output.',
    interfaces: [builder.nodeInterfaceRef(), refs.Tool],
    isTypeOf: (value) => hasPrefix(value, 'tool_') && (value as Tool).kind === 'client',
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
  return { Method, AnnotationsInput, GateInput: gates.Input }
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

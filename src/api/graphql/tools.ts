/** Tools on the wire. */
import {
  createTool,
  deleteTool,
  listTools,
  shownSchema,
  toolKinds,
  updateTool,
  type Tool,
} from '../../domain/tools/index.ts'
import { connectionOf, hasPrefix, listCost, page } from './connections.ts'
import { described } from './described.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'

export function addTools(refs: Refs): void {
  const inputs = addToolTypes(refs)
  addToolQueries(refs)
  addToolMutations(refs, inputs)
}

function addToolTypes(refs: Refs) {
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
  return { Method, AnnotationsInput }
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

const kindMeanings: Record<(typeof toolKinds)[number], string> = {
  http: 'Here: it calls an http endpoint.',
  client: 'In the calling application: a generation pauses for its output.',
}

function addToolQueries(refs: Refs): void {
  const { builder } = refs
  const connection = connectionOf(refs.Tool, 'Tool')
  const Kind = builder.enumType('ToolKind', {
    description: 'Where a tool runs.',
    values: Object.fromEntries(
      toolKinds.map((kind) => [kind.toUpperCase(), { value: kind, description: kindMeanings[kind] }]),
    ) as Record<string, { value: (typeof toolKinds)[number] }>,
  })
  builder.queryField('tool', (t) =>
    t.field({
      type: refs.Tool,
      nullable: true,
      description: 'A tool by id; null when it does not exist for this key.',
      args: { id: t.arg.id({ required: true, description: 'Begins with tool_.' }) },
      resolve: (_root, { id }, { loaders }) => loaders.tools.load(id),
    }),
  )
  builder.queryField('tools', (t) =>
    t.field({
      type: connection,
      description: 'The tools of a project, newest first.',
      args: {
        projectId: t.arg.id({ description: "The project; the key's own when left out." }),
        kind: t.arg({ type: Kind, description: 'Only tools of this kind.' }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, kind, ...args }, { ctx }) =>
        page(args, (p) => listTools(ctx, { projectId, kind: kind ?? null, page: p })),
    }),
  )
}

function addToolMutations(refs: Refs, inputs: ReturnType<typeof addToolTypes>): void {
  const { builder } = refs
  const Http = builder.inputType('HttpToolConfigInput', {
    description: 'An http endpoint.',
    fields: (t) => ({
      url: t.string({
        required: true,
        description: 'Absolute; {name} in path or query is replaced by the argument.',
      }),
      method: t.field({ type: inputs.Method, description: 'POST when left out.' }),
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
  const Config = builder.inputType('ToolConfigInput', {
    description: 'Exactly one kind of tool.',
    isOneOf: true,
    fields: (t) => ({
      http: t.field({ type: Http, description: 'Calls an http endpoint.' }),
      client: t.field({ type: Client, description: 'Runs in the calling application.' }),
    }),
  })
  const shared = (t: Parameters<Parameters<typeof builder.inputType>[1]['fields']>[0]) => ({
    title: t.string({ description: 'A name for people.' }),
    description: t.string({ description: 'What the model reads to choose the tool.' }),
    presetParameters: t.field({
      type: 'JSONObject',
      description: 'Fixed arguments by top-level name: hidden, and always ours.',
    }),
    outputSchema: t.field({
      type: 'JSONSchema',
      description: 'What a structured result must fit; one that does not is an error result.',
    }),
    annotations: t.field({ type: inputs.AnnotationsInput, description: 'Hints in the words of MCP.' }),
    timeoutMs: t.int({
      description: "Milliseconds for one call, 1 to 600,000; the installation's default when left out.",
    }),
    idempotent: t.boolean({
      description: 'Whether a call may be repeated after a crash; by method and annotations when left out.',
    }),
  })
  const payload = (name: string) =>
    builder.objectRef<{ tool: Tool }>(name).implement({
      description: 'The tool as it stands now.',
      fields: (t) => ({ tool: t.expose('tool', { type: refs.Tool, description: 'The tool.' }) }),
    })
  addMutation(refs, {
    name: 'createTool',
    description:
      'Saves a new tool. Everything is checked first: schemas compile, names are legal, the address may be reached.',
    input: builder.inputType('CreateToolInput', {
      description: 'A new tool.',
      fields: (t) => ({
        projectId: t.id({ description: "The project; the key's own when left out." }),
        name: t.string({
          required: true,
          description: 'Matches ^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$, unique in the project.',
        }),
        ...shared(t),
        config: t.field({ type: Config, required: true, description: 'What kind of tool it is.' }),
      }),
    }),
    payload: payload('CreateToolPayload'),
    errors: ['ValidationError', 'NameTakenError', 'NotFoundError', 'LimitReachedError'],
    run: async (ctx, input) => ({ tool: await createTool(ctx, input as never) }),
  })
  addMutation(refs, {
    name: 'updateTool',
    description: 'Changes what is given, keeps the rest, and makes a new version. null takes a value away.',
    input: builder.inputType('UpdateToolInput', {
      description: 'Changes of a tool.',
      fields: (t) => ({
        id: t.id({ required: true, description: 'Begins with tool_.' }),
        expectedVersion: t.int({
          description: 'Refuses with ConflictError when the tool has another version.',
        }),
        name: t.string({ description: 'A new name.' }),
        ...shared(t),
        config: t.field({ type: Config, description: 'A new config of the same kind.' }),
      }),
    }),
    payload: payload('UpdateToolPayload'),
    errors: ['ValidationError', 'NameTakenError', 'NotFoundError', 'ConflictError'],
    run: async (ctx, input) => ({ tool: await updateTool(ctx, input as never) }),
  })
  addMutation(refs, {
    name: 'deleteTool',
    description: 'Deletes a tool. Calls already proposed run to their end.',
    input: builder.inputType('DeleteToolInput', {
      description: 'The tool to delete.',
      fields: (t) => ({ id: t.id({ required: true, description: 'Begins with tool_.' }) }),
    }),
    payload: payload('DeleteToolPayload'),
    errors: ['NotFoundError'],
    run: async (ctx, input) => ({ tool: await deleteTool(ctx, input) }),
  })
}

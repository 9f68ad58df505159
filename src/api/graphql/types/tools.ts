/** Tools in GraphQL. */
import {
  createTool,
  deleteTool,
  listTools,
  toolKinds,
  updateTool,
  type Tool,
} from '../../../domain/tools/index.ts'
import { actionMark, listOf, shown } from '../builder/action-mark.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'
import { defaultText, type Purpose } from '../builder/described.ts'
import type { GateTypes } from './gates.ts'
import { nameDescription } from '../builder/filters.ts'
import { mcpConfigOf } from './mcp-tools.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'
import { addToolKinds } from './tool-kinds.ts'
import { addToolTypes } from './tool-objects.ts'

export function addTools(refs: Refs, gates: GateTypes): void {
  const types = addToolTypes(refs, gates)
  const Config = addToolKinds(refs, types.Annotations, gates)
  addToolQueries(refs)
  addToolMutations(refs, { ...types, Config })
}

const kindMeanings: Record<(typeof toolKinds)[number], string> = {
  http: 'Gatehouse calls an HTTP endpoint.',
  client: 'The client application runs the tool: a generation pauses until its output is submitted.',
  mcp: 'Gatehouse calls an upstream MCP server: each tool of the server is an action.',
  platform: 'Gatehouse runs its own operations: each is an action.',
}

function addToolQueries(refs: Refs): void {
  const { builder } = refs
  const connection = connectionOf(refs.Tool, 'Tool')
  const Kind = builder.enumType('ToolKind', {
    description: 'The kind of a tool, which decides where calls run.',
    values: Object.fromEntries(
      toolKinds.map((kind) => [kind.toUpperCase(), { value: kind, description: kindMeanings[kind] }]),
    ) as Record<string, { value: (typeof toolKinds)[number] }>,
  })
  builder.queryField('tool', (t) =>
    t.field({
      ...actionMark(shown.tool),
      type: refs.Tool,
      nullable: true,
      description: 'A tool by id; null when it does not exist for this API key. Permission: tools:Get.',
      args: { id: t.arg.id({ required: true, description: 'The id of the tool; it begins with tool_.' }) },
      resolve: (_root, { id }, { loaders }) => loaders.tools.load(id),
    }),
  )
  builder.queryField('tools', (t) =>
    t.field({
      ...actionMark(listOf(shown.tool)),
      type: connection,
      description: 'The tools of a project, newest first. Permission: tools:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        kind: t.arg({ type: Kind, description: 'Only tools of this kind.' }),
        name: t.arg.string({ description: nameDescription('tools') }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, kind, name, ...args }, { ctx }) =>
        page(args, (p) => listTools(ctx, { projectId, kind: kind ?? null, name, page: p })),
    }),
  )
}

interface ToolInputs extends ReturnType<typeof addToolTypes> {
  Config: ReturnType<typeof addToolKinds>
}

function addToolMutations(refs: Refs, inputs: ToolInputs): void {
  const { builder } = refs
  const shared = (t: Parameters<Parameters<typeof builder.inputType>[1]['fields']>[0], purpose: Purpose) => ({
    title: t.string({ description: `The display name of the tool. ${defaultText(purpose, 'none')}` }),
    description: t.string({
      description: `The description that the model reads to choose the tool. ${defaultText(purpose, 'none')}`,
    }),
    presetParameters: t.field({
      type: 'JSONObject',
      description:
        'Fixed arguments by top-level name: hidden from models and clients, and not to be overridden. ' +
        `${defaultText(purpose, 'none')}`,
    }),
    outputSchema: t.field({
      type: 'JSONSchema',
      description:
        'The JSON Schema of a structured result; a result that does not match becomes an error. ' +
        `${defaultText(purpose, 'none')}`,
    }),
    annotations: t.field({
      type: inputs.AnnotationsInput,
      description: `Hints about the behaviour of the tool, as in MCP. ${defaultText(purpose, 'none')}`,
    }),
    timeoutMs: t.int({
      description:
        'Maximum time of one call in milliseconds, 1 to 600,000. ' +
        `${defaultText(purpose, 'that of the installation')}`,
    }),
    idempotent: t.boolean({
      description: `Whether a call may be repeated after a crash. ${defaultText(purpose, 'by method and annotations')}`,
    }),
    task: t.field({
      type: inputs.TaskInput,
      description: `How calls over MCP become tasks. ${defaultText(purpose, 'mode OPTIONAL')}`,
    }),
    agentsOnly: t.boolean({
      description:
        'Whether only agents may call the tool: callTool is refused, so that the gate of an agent applies. ' +
        `${defaultText(purpose, 'false')}`,
    }),
    gate: t.field({
      type: inputs.GateInput,
      description:
        'The policy that stops calls for approval. ' +
        `${defaultText(purpose, 'every call with destructiveHint, else no call')}`,
    }),
  })
  const payload = (name: string) =>
    builder.objectRef<{ tool: Tool }>(name).implement({
      description: 'The tool after the mutation; a deleted one as it was before.',
      fields: (t) => ({
        tool: t.expose('tool', { type: refs.Tool, description: 'The tool after the mutation.' }),
      }),
    })
  addMutation(refs, {
    name: 'createTool',
    action: `{ tool ${shown.tool} }`,
    description: 'Creates a tool after checking its schemas, names and URL. Permission: tools:Create.',
    input: builder.inputType('CreateToolInput', {
      description: 'The tool to create.',
      fields: (t) => ({
        projectId: t.id({ description: 'The id of the project. Default: the project of the API key.' }),
        name: t.string({
          required: true,
          description:
            'The name of the tool, unique in the project; it matches ^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$.',
        }),
        ...shared(t, 'create'),
        config: t.field({
          type: inputs.Config,
          required: true,
          description: 'The kind of the tool with its settings.',
        }),
      }),
    }),
    payload: payload('CreateToolPayload'),
    errors: ['ValidationError', 'NameTakenError', 'NotFoundError', 'LimitReachedError'],
    run: async (ctx, input) => ({
      tool: await createTool(ctx, { ...input, config: configOf(input.config) }),
    }),
  })
  addMutation(refs, {
    name: 'updateTool',
    action: `{ tool ${shown.tool} }`,
    loosening: ['gate', 'agentsOnly', 'annotations', 'config', 'presetParameters'],
    description:
      'Changes the given fields of a tool, keeps the others and increments the version. Permission: ' +
      'tools:Update, and gates:Update for its gates.',
    input: builder.inputType('UpdateToolInput', {
      description: 'The changes of a tool: fields that are left out keep their values.',
      fields: (t) => ({
        id: t.id({ required: true, description: 'The id of the tool; it begins with tool_.' }),
        expectedVersion: t.int({
          description:
            'The version to change: with another current version the mutation returns ConflictError. ' +
            'Default: any version.',
        }),
        name: t.string({ description: 'The new name of the tool, unique in the project.' }),
        ...shared(t, 'update'),
        config: t.field({
          type: inputs.Config,
          description: 'The new settings; the kind must be the same. Default: unchanged.',
        }),
      }),
    }),
    payload: payload('UpdateToolPayload'),
    errors: ['ValidationError', 'NameTakenError', 'NotFoundError', 'ConflictError'],
    run: async (ctx, input) => ({
      tool: await updateTool(ctx, input.config ? { ...input, config: configOf(input.config) } : input),
    }),
  })
  addMutation(refs, {
    name: 'deleteTool',
    action: `{ tool ${shown.tool} }`,
    description: 'Deletes a tool; calls that were requested before still run. Permission: tools:Delete.',
    input: builder.inputType('DeleteToolInput', {
      description: 'The tool to delete.',
      fields: (t) => ({
        id: t.id({ required: true, description: 'The id of the tool; it begins with tool_.' }),
      }),
    }),
    payload: payload('DeleteToolPayload'),
    errors: ['NotFoundError'],
    run: async (ctx, input) => ({ tool: await deleteTool(ctx, input) }),
  })
}

type ConfigInput = ReturnType<typeof addToolKinds>['$inferInput']

/** Converts the config to that of the domain, where an mcp tool has another shape. */
function configOf(config: ConfigInput) {
  return { ...config, mcp: config.mcp ? mcpConfigOf(config.mcp) : config.mcp }
}

/** Tools on the wire. */
import {
  createTool,
  deleteTool,
  listTools,
  toolKinds,
  updateTool,
  type Tool,
} from '../../domain/tools/index.ts'
import { actionMark, listOf, shown } from './action-mark.ts'
import { connectionOf, listCost, page } from './connections.ts'
import type { GateTypes } from './gates.ts'
import { mcpConfigOf } from './mcp-tools.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'
import { addToolKinds } from './tool-kinds.ts'
import { addToolTypes } from './tool-objects.ts'

export function addTools(refs: Refs, gates: GateTypes): void {
  const types = addToolTypes(refs, gates)
  const Config = addToolKinds(refs, types.Annotations, gates)
  addToolQueries(refs)
  addToolMutations(refs, { ...types, Config })
}

const kindMeanings: Record<(typeof toolKinds)[number], string> = {
  http: 'Here: it calls an http endpoint.',
  client: 'In the calling application: a generation pauses for its output.',
  mcp: 'At a foreign MCP server, through here: each of its tools is one of its actions.',
  platform: 'Here: each of its actions is one of our own operations.',
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
      ...actionMark(shown.tool),
      type: refs.Tool,
      nullable: true,
      description: 'A tool by id; null when it does not exist for this key.',
      args: { id: t.arg.id({ required: true, description: 'Begins with tool_.' }) },
      resolve: (_root, { id }, { loaders }) => loaders.tools.load(id),
    }),
  )
  builder.queryField('tools', (t) =>
    t.field({
      ...actionMark(listOf(shown.tool)),
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

interface ToolInputs extends ReturnType<typeof addToolTypes> {
  Config: ReturnType<typeof addToolKinds>
}

function addToolMutations(refs: Refs, inputs: ToolInputs): void {
  const { builder } = refs
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
    task: t.field({
      type: inputs.TaskInput,
      description: 'How calls over MCP become tasks; as they may when left out.',
    }),
    agentsOnly: t.boolean({
      description:
        'True: callTool is refused, so that the gate of an agent cannot be gone around. False when left out.',
    }),
    gate: t.field({
      type: inputs.GateInput,
      description: 'When a human must agree; left out: for tools with destructiveHint, else never.',
    }),
  })
  const payload = (name: string) =>
    builder.objectRef<{ tool: Tool }>(name).implement({
      description: 'The tool as it stands now.',
      fields: (t) => ({ tool: t.expose('tool', { type: refs.Tool, description: 'The tool.' }) }),
    })
  addMutation(refs, {
    name: 'createTool',
    action: `{ tool ${shown.tool} }`,
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
        config: t.field({ type: inputs.Config, required: true, description: 'What kind of tool it is.' }),
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
        config: t.field({ type: inputs.Config, description: 'A new config of the same kind.' }),
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

type ConfigInput = ReturnType<typeof addToolKinds>['$inferInput']

/** The domain spells the configuration of a foreign MCP server otherwise. */
function configOf(config: ConfigInput) {
  return { ...config, mcp: config.mcp ? mcpConfigOf(config.mcp) : config.mcp }
}

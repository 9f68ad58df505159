/** Tool calls on the wire, and the direct call. */
import { callTool, type CallToolInput } from '../../domain/calls/index.ts'
import { masked } from '../../domain/tools/index.ts'
import { listToolCalls, toolCallStatuses, type ToolCall } from '../../domain/tool-calls/index.ts'
import { actionMark, listOf, shown } from './action-mark.ts'
import { connectionOf, hasPrefix, listCost, page } from './connections.ts'
import { described } from './described.ts'
import type { FileTypes } from './files.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'
import { addResolve, attemptType, resolutionEnum } from './tool-call-ledger.ts'

export function addToolCalls(refs: Refs, files: FileTypes): void {
  const { builder } = refs
  const Status = builder.enumType('ToolCallStatus', {
    description:
      'What became of a call. The first five are open, the others are final; UNKNOWN until a person resolves it.',
    values: described(toolCallStatuses, statusDescriptions),
  })
  const Source = builder.enumType('ToolCallSource', {
    description: 'Where a call came from.',
    values: {
      GENERATION: { description: 'A model asked for it.' },
      DIRECT: { description: 'callTool.' },
      BRIDGE: { description: 'An MCP client, through an agent.' },
    },
  })
  const ResolutionEnum = resolutionEnum(refs)
  const Attempt = attemptType(refs, Status)
  refs.ToolCall.implement({
    description: 'One request to run a tool.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'call_'),
    fields: (t) => ({
      id: t.exposeID('id', {
        description: 'Begins with call_. The outside world hears it as Idempotency-Key.',
      }),
      name: t.exposeString('runtimeName', { description: 'The runtime name that was called.' }),
      action: t.exposeString('action', {
        nullable: true,
        description: 'Which action of the tool; null for a tool with one name.',
      }),
      status: t.field({ type: Status, description: 'What became of it.', resolve: (call) => call.status }),
      source: t.field({ type: Source, description: 'Where it came from.', resolve: (call) => call.source }),
      arguments: t.field({
        type: 'JSONObject',
        nullable: true,
        description:
          'As given or edited by an approver, without presets; null when the model wrote no valid ones. writeOnly values are masked, but not while a client tool is to run with them.',
        resolve: (call) =>
          call.arguments && call.status !== 'AWAITING_CLIENT'
            ? masked(call.arguments, call.masked)
            : call.arguments,
      }),
      rawArguments: t.exposeString('rawArguments', {
        nullable: true,
        description: 'What the model wrote when it was not valid, writeOnly values masked.',
      }),
      attachments: t.field({
        type: [refs.File],
        description: 'Files that came with it and that still exist for this key.',
        resolve: async ({ attachments }, _args, { loaders }) => {
          const found = await Promise.all((attachments ?? []).map(({ fileId }) => loaders.files.load(fileId)))
          return found.filter((file) => file !== null)
        },
      }),
      isError: t.exposeBoolean('isError', {
        nullable: true,
        description: 'Whether it failed; null while it is open.',
      }),
      errorCode: t.exposeString('errorCode', { nullable: true, description: 'Why it failed, for programs.' }),
      content: t.field({
        type: 'JSON',
        nullable: true,
        description: 'The result as a list of MCP content blocks; null while it is open.',
        resolve: (call) => call.result?.content ?? null,
      }),
      structuredContent: t.field({
        type: 'JSON',
        nullable: true,
        description: 'The same result as JSON, when there is one.',
        resolve: (call) => call.result?.structuredContent ?? null,
      }),
      attempt: t.exposeInt('attempt', { description: 'Times it was sent.' }),
      attempts: t.expose('attempts', {
        type: [Attempt],
        description: 'The ledger: each time it was sent, oldest first. Empty for a client call.',
      }),
      approval: t.field({
        type: refs.Approval,
        nullable: true,
        description: 'The newest approval that was asked for; null when the gate let it pass.',
        resolve: (call, _args, { loaders }) =>
          call.approvalId ? loaders.approvals.load(call.approvalId) : null,
      }),
      grant: t.field({
        type: refs.Grant,
        nullable: true,
        description: 'The grant that let it pass the gate.',
        resolve: (call, _args, { loaders }) => (call.grantId ? loaders.grants.load(call.grantId) : null),
      }),
      editedArguments: t.field({
        type: ['String'],
        description: 'The names of the arguments that an approver changed.',
        resolve: (call) => call.editedKeys ?? [],
      }),
      resolution: t.expose('resolution', {
        type: ResolutionEnum,
        nullable: true,
        description: 'What a person said of it when its outcome was unknown.',
      }),
      resolvedBy: t.exposeID('resolvedBy', { nullable: true, description: 'The key that said so.' }),
      resolvedAt: t.expose('resolvedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When it was said.',
      }),
      stepIndex: t.exposeInt('stepIndex', {
        nullable: true,
        description: 'The step of the generation, from 1.',
      }),
      toolVersion: t.exposeInt('toolVersion', {
        nullable: true,
        description: 'The version of the tool it runs with, or of the agent that it asks.',
      }),
      tool: t.field({
        type: refs.Tool,
        nullable: true,
        description: 'The tool as it is now; null when it was deleted, never existed or may not be seen.',
        resolve: (call, _args, { loaders }) =>
          call.toolId && call.kind !== 'agent' ? loaders.tools.load(call.toolId) : null,
      }),
      generation: t.field({
        type: refs.Generation,
        nullable: true,
        description: 'The generation it belongs to; null for a direct call.',
        resolve: (call, _args, { loaders }) =>
          call.generationId ? loaders.generations.load(call.generationId) : null,
      }),
      agent: t.field({
        type: refs.Agent,
        nullable: true,
        description: 'The agent through which an MCP client called; null for any other call.',
        resolve: (call, _args, { loaders }) => (call.agentId ? loaders.agents.load(call.agentId) : null),
      }),
      askedAgent: t.field({
        type: refs.Agent,
        nullable: true,
        description:
          'Of a call of an agent that is bound directly: that agent as it is now; null for a call of a tool.',
        resolve: (call, _args, { loaders }) =>
          call.kind === 'agent' ? loaders.agents.load(call.toolId!) : null,
      }),
      child: t.field({
        type: refs.Generation,
        nullable: true,
        description: 'The run of an agent that it waits for, and whose final answer is its result.',
        resolve: (call, _args, { loaders }) => (call.childId ? loaders.generations.load(call.childId) : null),
      }),
      requestedBy: t.exposeID('requestedBy', { description: 'The key that asked for it.' }),
      deadlineAt: t.expose('deadlineAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When an open client call is given up.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was proposed.' }),
      startedAt: t.expose('startedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When it was first sent.',
      }),
      settledAt: t.expose('settledAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When it was settled.',
      }),
    }),
  })
  addQueries(refs, Status)
  addResolve(refs, ResolutionEnum)
  addMutation(refs, {
    name: 'callTool',
    action: `{ toolCall ${shown.toolCall} }`,
    description:
      'Calls a tool outside any generation and waits for its result. A tool that fails is a result with isError; a call that the gate stops is answered as AWAITING_APPROVAL and runs when it is approved.',
    input: builder.inputType('CallToolInput', {
      description: 'A call.',
      fields: (t) => ({
        toolId: t.id({ required: true, description: 'Begins with tool_. Any kind but client.' }),
        action: t.string({
          description: 'Which of its actions; required for mcp and platform tools, refused for others.',
        }),
        arguments: t.field({
          type: 'JSONObject',
          description: '{} when left out. Preset keys in it have no effect.',
        }),
        attachments: t.field({
          type: [files.Attachment],
          description: 'At most 20; an http tool gets links to them as the argument attachments.',
        }),
        idempotencyKey: t.string({
          description:
            'A repeat with the same key joins the first call. Remembered until 24 hours after it is settled.',
        }),
      }),
    }),
    payload: builder.objectRef<{ toolCall: ToolCall }>('CallToolPayload').implement({
      description: 'The call.',
      fields: (t) => ({
        toolCall: t.expose('toolCall', { type: refs.ToolCall, description: 'The call with its result.' }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError', 'IdempotencyConflictError', 'LimitReachedError'],
    run: async (ctx, input) => ({ toolCall: await callTool(ctx, input as CallToolInput) }),
  })
}

function addQueries(refs: Refs, Status: ReturnType<Refs['builder']['enumType']>): void {
  const { builder } = refs
  const connection = connectionOf(refs.ToolCall, 'ToolCall')
  builder.queryField('toolCall', (t) =>
    t.field({
      ...actionMark(shown.toolCall),
      type: refs.ToolCall,
      nullable: true,
      description: 'A tool call by id; null when it does not exist for this key.',
      args: { id: t.arg.id({ required: true, description: 'Begins with call_.' }) },
      resolve: (_root, { id }, { loaders }) => loaders.toolCalls.load(id),
    }),
  )
  builder.queryField('unknownToolCalls', (t) =>
    t.field({
      type: connection,
      description: 'Calls whose outcome nobody knows and nobody has resolved yet, newest first.',
      args: {
        projectId: t.arg.id({ description: "The project; the key's own when left out." }),
        toolId: t.arg.id({ description: 'Only calls of this tool.' }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, toolId, ...args }, { ctx }) =>
        page(args, (p) => listToolCalls(ctx, { projectId, status: 'UNKNOWN', toolId, page: p })),
    }),
  )
  builder.queryField('toolCalls', (t) =>
    t.field({
      ...actionMark(listOf(shown.toolCall)),
      type: connection,
      description: 'The tool calls of a project, newest first, those of generations and direct ones.',
      args: {
        projectId: t.arg.id({ description: "The project; the key's own when left out." }),
        status: t.arg({ type: Status, description: 'Only calls with this status.' }),
        toolId: t.arg.id({ description: 'Only calls of this tool.' }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, status, toolId, ...args }, { ctx }) =>
        page(args, (p) =>
          listToolCalls(ctx, { projectId, status: status as string | null, toolId, page: p }),
        ),
    }),
  )
}

const statusDescriptions: Record<(typeof toolCallStatuses)[number], string> = {
  PROPOSED: 'Accepted, not sent yet.',
  AWAITING_APPROVAL: 'The gate stopped it; see approval.',
  APPROVED: 'Approved, not sent yet.',
  EXECUTING: 'Sent, no answer yet.',
  AWAITING_CLIENT: 'Waits for submitToolOutputs.',
  SUCCEEDED: 'Done.',
  ERRORED: 'Failed, or refused with a reason.',
  INVALID: 'The arguments did not fit the schema; it was not sent.',
  UNKNOWN:
    'It was sent, and no final answer came, or the server stopped meanwhile: it may have taken effect, and was not repeated.',
  REJECTED: 'A person denied it; it was not sent.',
  EXPIRED: 'Nobody approved it in time; it was not sent.',
  SKIPPED: 'The generation ended with its step.',
  CANCELLED: 'The generation ended before it was answered.',
}

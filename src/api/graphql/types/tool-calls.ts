/** Tool calls in GraphQL: the object type and the queries. */
import {
  type ToolCallAttempt,
  type ToolCallStatus,
  resolution,
  toolCallFilter,
  toolCallStatus,
} from '../../../domain/tool-calls/index.ts'
import type { EnumOf } from '../builder/builder.ts'
import type { Refs } from '../builder/refs.ts'
import { summaryOf } from '../../../domain/approvals/index.ts'
import { listCalls } from '../../../domain/calls/index.ts'
import { maskAt } from '../../../domain/tools/index.ts'
import { shown } from '../builder/action-mark.ts'
import { connectionOf, hasPrefix } from '../builder/connections.ts'
import { addById, addList } from '../builder/queries.ts'

/** The attempts of a tool call in GraphQL. */
function attemptType({ builder }: Refs, Status: EnumOf<ToolCallStatus>) {
  return builder.objectRef<ToolCallAttempt>('ToolCallAttempt').implement({
    description: 'One attempt to send a tool call.',
    fields: (t) => ({
      attempt: t.exposeInt('attempt', { description: 'The number of the attempt, from 1.' }),
      idempotencyKey: t.exposeString('idempotencyKey', {
        description: 'The Idempotency-Key that the tool received.',
      }),
      startedAt: t.field({
        type: 'DateTime',
        description: 'When the attempt was committed, just before the call was sent.',
        resolve: (attempt) => new Date(attempt.startedAt),
      }),
      endedAt: t.field({
        type: 'DateTime',
        nullable: true,
        description:
          'When the outcome was committed; null while the attempt runs, or when its process stopped.',
        resolve: (attempt) => (attempt.endedAt ? new Date(attempt.endedAt) : null),
      }),
      outcome: t.field({
        type: Status,
        nullable: true,
        description: 'The outcome: SUCCEEDED, ERRORED or UNKNOWN; null when endedAt is null.',
        resolve: (attempt) => attempt.outcome ?? null,
      }),
      errorCode: t.string({
        nullable: true,
        description: 'The stable code of the failure for programs; null when the attempt did not fail.',
        resolve: (attempt) => attempt.errorCode ?? null,
      }),
    }),
  })
}

export function addToolCalls(refs: Refs): void {
  const { builder } = refs
  const Status = refs.shapes.choice(toolCallStatus)
  const Source = builder.enumType('ToolCallSource', {
    description: 'The origin of a tool call.',
    values: {
      GENERATION: { description: 'The model of a generation requested the call.' },
      DIRECT: { description: 'A caller requested the call with callTool.' },
      BRIDGE: { description: 'An MCP client requested the call through an agent.' },
    },
  })
  const Attempt = attemptType(refs, Status)
  refs.ToolCall.implement({
    description: 'One request to run a tool, with its result.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'call_'),
    fields: (t) => ({
      id: t.exposeID('id', {
        description: 'The id of the tool call; it begins with call_. Tools receive it as Idempotency-Key.',
      }),
      name: t.exposeString('runtimeName', { description: 'The runtime name of the called tool or agent.' }),
      action: t.exposeString('action', {
        nullable: true,
        description: 'The name of the action; null for a tool without actions.',
      }),
      status: t.field({
        type: Status,
        description: 'The status of the call.',
        resolve: (call) => call.status,
      }),
      source: t.field({
        type: Source,
        description: 'The origin of the call.',
        resolve: (call) => call.source,
      }),
      arguments: t.field({
        type: 'JSONObject',
        nullable: true,
        description:
          'The arguments without presets, as requested or as an approver edited them; null when the model ' +
          'wrote invalid ones. writeOnly values are masked, except while the call waits for a client.',
        resolve: (call) =>
          call.arguments && call.status !== 'AWAITING_CLIENT'
            ? maskAt(call.arguments, call.masked)
            : call.arguments,
      }),
      summary: t.field({
        type: refs.CallSummary,
        description:
          'The call as one sentence for people: the name and the first arguments, writeOnly values left out. The summary of ' +
          'its approval also has the title of its gate.',
        resolve: ({ runtimeName, masked: paths, ...call }) =>
          summaryOf({
            runtimeName,
            arguments: call.arguments ?? {},
            editedArguments: null,
            masked: paths,
            question: null,
          }),
      }),
      rawArguments: t.exposeString('rawArguments', {
        nullable: true,
        description:
          'The text that the model wrote in place of valid arguments, writeOnly values masked; null when the ' +
          'arguments are valid.',
      }),
      attachments: t.field({
        type: [refs.File],
        description: 'The files attached to the call that still exist for this API key.',
        resolve: async ({ attachments }, _args, { loaders }) => {
          const found = await Promise.all((attachments ?? []).map(({ fileId }) => loaders.files.load(fileId)))
          return found.filter((file) => file !== null)
        },
      }),
      isError: t.exposeBoolean('isError', {
        nullable: true,
        description: 'Whether the call failed; null while it is open.',
      }),
      errorCode: t.exposeString('errorCode', {
        nullable: true,
        description: 'The stable code of the failure for programs; null when the call did not fail.',
      }),
      content: t.field({
        type: 'JSON',
        nullable: true,
        description: 'The result as a list of MCP content blocks; null while the call is open.',
        resolve: (call) => call.result?.content ?? null,
      }),
      structuredContent: t.field({
        type: 'JSON',
        nullable: true,
        description: 'The structured result as JSON; null when the tool returned none.',
        resolve: (call) => call.result?.structuredContent ?? null,
      }),
      attempt: t.exposeInt('attempt', { description: 'The number of times that the call was sent.' }),
      attempts: t.expose('attempts', {
        type: [Attempt],
        description: 'The attempts to send the call, oldest first. Empty for a client tool.',
      }),
      approval: t.field({
        type: refs.Approval,
        nullable: true,
        description: 'The newest approval of the call; null when the gate let it pass.',
        resolve: (call, _args, { loaders }) =>
          call.approvalId ? loaders.approvals.load(call.approvalId) : null,
      }),
      grant: t.field({
        type: refs.Grant,
        nullable: true,
        description: 'The grant that let the call pass the gate; null when none was needed or used.',
        resolve: (call, _args, { loaders }) => (call.grantId ? loaders.grants.load(call.grantId) : null),
      }),
      editedArguments: t.field({
        type: ['String'],
        description: 'The names of the arguments that an approver changed.',
        resolve: (call) => call.editedKeys ?? [],
      }),
      resolution: t.expose('resolution', {
        type: refs.shapes.choice(resolution),
        nullable: true,
        description: 'The outcome that a person set with resolveUnknownCall; null when none was set.',
      }),
      resolvedBy: t.exposeID('resolvedBy', {
        nullable: true,
        description: 'The id of the API key or person that resolved the call; null when it was not resolved.',
      }),
      resolvedAt: t.expose('resolvedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the call was resolved; null when it was not.',
      }),
      stepIndex: t.exposeInt('stepIndex', {
        nullable: true,
        description: 'The number of the step in the generation, from 1; null outside a generation.',
      }),
      toolVersion: t.exposeInt('toolVersion', {
        nullable: true,
        description:
          'The version of the tool, or of the called agent, that the call runs with; null when neither exists.',
      }),
      tool: t.field({
        type: refs.Tool,
        nullable: true,
        description:
          'The tool as it is now; null when it was deleted, never existed or is hidden from this API key.',
        resolve: (call, _args, { loaders }) =>
          call.toolId && call.kind !== 'agent' ? loaders.tools.load(call.toolId) : null,
      }),
      generation: t.field({
        type: refs.Generation,
        nullable: true,
        description: 'The generation of the call; null for a direct call.',
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
          'The called agent as it is now, when an agent calls an agent; null for a call of a tool.',
        resolve: (call, _args, { loaders }) =>
          call.kind === 'agent' ? loaders.agents.load(call.toolId!) : null,
      }),
      child: t.field({
        type: refs.Generation,
        nullable: true,
        description:
          'The child run whose final answer is the result of the call; null for a call without one.',
        resolve: (call, _args, { loaders }) => (call.childId ? loaders.generations.load(call.childId) : null),
      }),
      requestedBy: t.exposeID('requestedBy', {
        description: 'The id of the API key or person that requested the call.',
      }),
      deadlineAt: t.expose('deadlineAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the call of a client tool times out; null for a call of another tool.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the call was requested.' }),
      startedAt: t.expose('startedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the call was first sent; null before that.',
      }),
      settledAt: t.expose('settledAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the call was settled; null while it is open.',
      }),
    }),
  })
  addQueries(refs)
}

function addQueries(refs: Refs): void {
  const connection = connectionOf(refs.ToolCall, 'ToolCall')
  addById(refs, {
    name: 'toolCall',
    type: refs.ToolCall,
    kind: 'toolCall',
    words: 'A tool call',
    permission: 'toolCalls:Get',
    action: shown.toolCall,
    load: ({ toolCalls }, id) => toolCalls.load(id),
  })
  addList(refs, {
    name: 'toolCalls',
    type: connection,
    description:
      'The tool calls of a project, newest first, those of generations and direct ones. Permission: toolCalls:List.',
    args: {
      filter: toolCallFilter.nullish().describe('Only calls that match all given fields.'),
    },
    action: shown.toolCall,
    list: listCalls,
  })
}

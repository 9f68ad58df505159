/** Generations in GraphQL: the queries, startGeneration, submitToolOutputs and cancelGeneration. */
import {
  cancelGeneration,
  listGenerations,
  startGeneration,
  submitToolOutputs,
  type Generation,
  type GenerationFilter,
  type OutputOutcome,
} from '../../../domain/generations/index.ts'
import { actionMark, listOf, shown } from '../builder/action-mark.ts'
import { callbackSecretText, secretOf, type CallbackTypes } from './callbacks.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'
import type { EventTypes } from './events.ts'
import { joined } from '../builder/filters.ts'
import type { FileTypes } from './files.ts'
import { addChain } from './generation-chain.ts'
import type { GenerationEnums } from './generation-enums.ts'
import { addCancelMany } from './cancel-many.ts'
import { filterInput } from './generation-filter.ts'
import { addGenerationTally } from './generation-tally.ts'
import { clientToolsInput, retryOfInput } from './generation-input.ts'
import { addGenerationTypes } from './generation-objects.ts'
import { fieldShapes } from '../../../core/field-list.ts'
import { overrideShapes } from '../../../core/shapes.ts'
import { runFields, toolChoice } from '../../../domain/agents/index.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'

export function addGenerations(refs: Refs, events: EventTypes, files: FileTypes, callback: CallbackTypes) {
  const enums = addGenerationTypes(refs, events)
  const connection = connectionOf(refs.Generation, 'Generation')
  addChain(refs, connection)
  addQueries(refs, enums, connection)
  const MessageInput = addMessageInput(refs)
  addStart(refs, { ...files, MessageInput }, callback)
  addSubmit(refs)
  addCancel(refs)
  return { MessageInput, Generations: connection }
}

function addMessageInput({ builder, MessageRole }: Refs) {
  return builder.inputType('MessageInput', {
    description: 'One message of a conversation.',
    fields: (t) => ({
      role: t.field({ type: MessageRole, required: true, description: 'The author of the message.' }),
      content: t.string({ required: true, description: 'The text of the message.' }),
    }),
  })
}

function addQueries(
  refs: Refs,
  Status: GenerationEnums,
  connection: ReturnType<typeof connectionOf<Generation>>,
): void {
  const { builder } = refs
  const Filter = filterInput(refs, Status)
  addCancelMany(refs, Filter)
  addGenerationTally(refs, Filter)
  builder.queryField('generation', (t) =>
    t.field({
      ...actionMark(shown.generation),
      type: refs.Generation,
      nullable: true,
      description:
        'A generation by id; null when it does not exist for this API key. Permission: generations:Get.',
      args: {
        id: t.arg.id({ required: true, description: 'The id of the generation; it begins with gen_.' }),
      },
      resolve: (_root, { id }, { loaders }) => loaders.generations.load(id),
    }),
  )
  builder.queryField('generations', (t) =>
    t.field({
      ...actionMark(listOf(shown.generation)),
      type: connection,
      description: 'The generations of a project, newest first. Permission: generations:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        agentId: t.arg.id({ description: 'Only generations of the agent with this id.' }),
        threadId: t.arg.id({ description: 'Only generations of the thread with this id.' }),
        status: t.arg({ type: Status.status, description: 'Only generations with this status.' }),
        filter: t.arg({ type: Filter, description: 'Only generations that match all given fields.' }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, agentId, threadId, status, filter, ...args }, { ctx }) =>
        page(args, (p) => {
          const statuses = status ? [status] : null
          const all = joined<GenerationFilter>(filter, { agentId, threadId, statuses })
          return listGenerations(ctx, { projectId, filter: all, page: p })
        }),
    }),
  )
}

function payloadOf(refs: Refs, name: string) {
  return refs.builder.objectRef<{ generation: Generation }>(name).implement({
    description: 'The generation after the mutation.',
    fields: (t) => ({
      generation: t.expose('generation', {
        type: refs.Generation,
        description: 'The generation after the mutation.',
      }),
    }),
  })
}

function addStart(
  refs: Refs,
  types: FileTypes & { MessageInput: ReturnType<typeof addMessageInput> },
  callback: CallbackTypes,
): void {
  const { builder } = refs
  addMutation(refs, {
    name: 'startGeneration',
    action: `{ generation ${shown.generation} }`,
    description:
      'Starts a generation of an agent and returns at once; follow it with the subscription ' +
      'generationEvents. Permission: generations:Start.',
    input: builder.inputType('StartGenerationInput', {
      description:
        'A new generation. Settings given here apply to this generation only and may narrow those of the ' +
        'agent, never loosen them.',
      fields: (t) => ({
        agentId: t.id({ required: true, description: 'The id of the agent; it begins with agt_.' }),
        prompt: t.string({
          description: 'The message of the user. Give exactly one of prompt and messages.',
        }),
        messages: t.field({
          type: [types.MessageInput],
          description:
            'A conversation that ends with a message of the user. Give exactly one of prompt and messages.',
        }),
        attachments: t.field({
          type: [types.Attachment],
          description:
            'Files of the last message, at most 20. The model receives the media types that it supports.',
        }),
        clientTools: clientToolsInput(refs, t),
        threadId: t.id({
          description:
            'The id of a thread to continue: its ended generations become the history. Default: a new thread.',
        }),
        externalThreadId: t.string({
          description:
            'An id of your own, 1 to 200 characters, for a thread of the agent: it is continued as with threadId, and ' +
            'created when there is none. Default: none.',
        }),
        retryOf: retryOfInput(refs, t),
        idempotencyKey: t.string({
          description:
            'A text that makes retries safe: a repeat with the same key returns the first generation, until ' +
            '24 hours after its end.',
        }),
        callback: t.field({
          type: callback,
          description: 'Where the events of the generation are sent. Permission: webhooks:Callback.',
        }),
        ...refs.shapes.inputFields(
          t,
          overrideShapes(
            fieldShapes(runFields),
            {
              instructions: 'It is appended to that of the agent.',
              stopConditions: 'Those of the agent apply too.',
            },
            'Default: that of the agent.',
          ),
        ),
      }),
    }),
    payload: builder
      .objectRef<{ generation: Generation; callbackSecret: string | null }>('StartGenerationPayload')
      .implement({
        description: 'The generation that was started.',
        fields: (t) => ({
          generation: t.expose('generation', {
            type: refs.Generation,
            description: 'The generation after the mutation.',
          }),
          callbackSecret: t.exposeString('callbackSecret', {
            nullable: true,
            description: callbackSecretText,
          }),
        }),
      }),
    errors: ['ValidationError', 'NotFoundError', 'IdempotencyConflictError', 'LimitReachedError'],
    run: async (ctx, input) => {
      const generation = await startGeneration(ctx, input)
      return { generation, callbackSecret: secretOf(ctx, input.callback, generation.id) }
    },
  })
}

function addSubmit(refs: Refs): void {
  const { builder } = refs
  const OutcomeStatus = builder.enumType('OutputOutcomeStatus', {
    description: 'The outcome of one submitted output.',
    values: {
      ACCEPTED: { description: 'The output was accepted and settled the call.' },
      UNCHANGED: { description: 'An identical output was submitted before; nothing changed.' },
      REFUSED: { description: 'The output was refused and the call is unchanged; error says why.' },
    },
  })
  const OutcomeError = builder.objectRef<NonNullable<OutputOutcome['error']>>('OutputError').implement({
    description: 'The reason for which one output was refused.',
    interfaces: [refs.Error],
  })
  const Outcome = builder.objectRef<OutputOutcome>('OutputOutcome').implement({
    description: 'The outcome of one submitted output.',
    fields: (t) => ({
      toolCallId: t.exposeID('toolCallId', { description: 'The id of the tool call.' }),
      status: t.expose('status', {
        type: OutcomeStatus,
        description: 'Whether the output was accepted, unchanged or refused.',
      }),
      error: t.expose('error', {
        type: OutcomeError,
        nullable: true,
        description: 'The reason for the refusal; null when the output was not refused.',
      }),
    }),
  })
  const Output = builder.inputType('ToolOutputInput', {
    description: 'The output of one client tool call.',
    fields: (t) => ({
      toolCallId: t.id({ required: true, description: 'The id of the tool call; it begins with call_.' }),
      output: t.field({ type: 'JSON', description: 'The output: a text or any JSON value, at most 1 MiB.' }),
      isError: t.boolean({
        description: 'Whether the client tool failed; output then says why. Default: false.',
      }),
    }),
  })
  addMutation(refs, {
    name: 'submitToolOutputs',
    action: `{ generation ${shown.generation} outcomes { toolCallId status error { code message } } }`,
    description:
      'Submits outputs of open client tool calls, all or some of them; an identical repeat changes nothing, ' +
      'and the last one resumes the generation. Permission: generations:SubmitToolOutputs.',
    input: builder.inputType('SubmitToolOutputsInput', {
      description: 'Outputs of client tool calls of a generation and its child runs.',
      fields: (t) => ({
        generationId: t.id({
          required: true,
          description:
            'The id of the generation; it begins with gen_. The root of a chain accepts outputs for all its ' +
            'child runs.',
        }),
        outputs: t.field({
          type: [Output],
          required: true,
          description: 'The outputs, 1 to 100, each for another tool call.',
        }),
        atomic: t.boolean({ description: 'Whether one refused output refuses all of them. Default: false.' }),
        toolChoice: t.field({
          type: refs.shapes.part(toolChoice),
          description: 'The tool choice for the next step of this generation only, not of its child runs.',
        }),
        activeToolIds: t.idList({
          description:
            'The ids of the tools and agents that the model sees in the next step of this generation only; ' +
            '[] means none.',
        }),
      }),
    }),
    payload: builder
      .objectRef<{ generation: Generation; outcomes: OutputOutcome[] }>('SubmitToolOutputsPayload')
      .implement({
        description: 'The outcome of each output, and the generation after the mutation.',
        fields: (t) => ({
          generation: t.expose('generation', {
            type: refs.Generation,
            description: 'The generation after the mutation.',
          }),
          outcomes: t.expose('outcomes', {
            type: [Outcome],
            description: 'The outcome of each output, in the order of the input.',
          }),
        }),
      }),
    errors: ['ValidationError', 'NotFoundError', 'GenerationTerminalError'],
    run: (ctx, input) => submitToolOutputs(ctx, input),
  })
}

function addCancel(refs: Refs): void {
  addMutation(refs, {
    name: 'cancelGeneration',
    action: `{ generation ${shown.generation} }`,
    description:
      'Requests the end of a generation and of all its child runs. Idempotent; a generation that has ended ' +
      'does not change. Permission: generations:Cancel.',
    input: refs.builder.inputType('CancelGenerationInput', {
      description: 'The generation to cancel.',
      fields: (t) => ({
        generationId: t.id({ required: true, description: 'The id of the generation; it begins with gen_.' }),
        reason: t.string({ description: 'The reason for people to read, at most 1,000 characters.' }),
      }),
    }),
    payload: payloadOf(refs, 'CancelGenerationPayload'),
    errors: ['NotFoundError', 'ValidationError'],
    run: async (ctx, input) => ({ generation: await cancelGeneration(ctx, input) }),
  })
}

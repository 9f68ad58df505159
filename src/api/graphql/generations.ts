/** Generations on the wire: queries and what can be done with them. */
import {
  cancelGeneration,
  listGenerations,
  startGeneration,
  submitToolOutputs,
  type Generation,
  type OutputOutcome,
} from '../../domain/generations/index.ts'
import { actionMark, listOf, shown } from './action-mark.ts'
import { connectionOf, listCost, page } from './connections.ts'
import type { EventTypes } from './events.ts'
import type { FileTypes } from './files.ts'
import { addChain } from './generation-chain.ts'
import type { GenerationEnums } from './generation-enums.ts'
import { addGenerationTypes } from './generation-objects.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'
import type { SettingInputs } from './settings.ts'

export function addGenerations(
  refs: Refs,
  inputs: SettingInputs,
  events: EventTypes,
  files: FileTypes,
): void {
  const enums = addGenerationTypes(refs, events)
  const connection = connectionOf(refs.Generation, 'Generation')
  addChain(refs, connection)
  addQueries(refs, enums, connection)
  addStart(refs, inputs, files)
  addSubmit(refs, inputs)
  addCancel(refs)
}

function addQueries(
  refs: Refs,
  Status: GenerationEnums,
  connection: ReturnType<typeof connectionOf<Generation>>,
): void {
  const { builder } = refs
  builder.queryField('generation', (t) =>
    t.field({
      ...actionMark(shown.generation),
      type: refs.Generation,
      nullable: true,
      description: 'A generation by id; null when it does not exist for this key.',
      args: { id: t.arg.id({ required: true, description: 'Begins with gen_.' }) },
      resolve: (_root, { id }, { loaders }) => loaders.generations.load(id),
    }),
  )
  builder.queryField('generations', (t) =>
    t.field({
      ...actionMark(listOf(shown.generation)),
      type: connection,
      description: 'The generations of a project, newest first.',
      args: {
        projectId: t.arg.id({ description: "The project; the key's own when left out." }),
        agentId: t.arg.id({ description: 'Only those of this agent.' }),
        threadId: t.arg.id({ description: 'Only those of this thread.' }),
        status: t.arg({ type: Status.status, description: 'Only those that stand there.' }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, agentId, threadId, status, ...args }, { ctx }) =>
        page(args, (p) =>
          listGenerations(ctx, { projectId, agentId, threadId, status: status ?? null, page: p }),
        ),
    }),
  )
}

function payloadOf(refs: Refs, name: string) {
  return refs.builder.objectRef<{ generation: Generation }>(name).implement({
    description: 'The generation as it stands now.',
    fields: (t) => ({
      generation: t.expose('generation', { type: refs.Generation, description: 'The generation.' }),
    }),
  })
}

function addStart(refs: Refs, inputs: SettingInputs, files: FileTypes): void {
  const { builder } = refs
  const Role = builder.enumType('MessageRole', {
    description: 'Who said it.',
    values: { USER: { description: 'The user.' }, ASSISTANT: { description: 'The model, earlier.' } },
  })
  const MessageInput = builder.inputType('MessageInput', {
    description: 'One message.',
    fields: (t) => ({
      role: t.field({ type: Role, required: true, description: 'Who said it.' }),
      content: t.string({ required: true, description: 'What was said.' }),
    }),
  })
  addMutation(refs, {
    name: 'startGeneration',
    action: `{ generation ${shown.generation} }`,
    description:
      'Starts a run of an agent and answers at once. Watch it with the subscription generationEvents.',
    input: builder.inputType('StartGenerationInput', {
      description: 'A run. What it gives beyond prompt and thread overrides the agent for this run only.',
      fields: (t) => ({
        agentId: t.id({ required: true, description: 'Begins with agt_.' }),
        prompt: t.string({ description: 'What the user says. Exactly one of prompt and messages.' }),
        messages: t.field({ type: [MessageInput], description: 'A conversation that ends with the user.' }),
        attachments: t.field({
          type: [files.Attachment],
          description: 'At most 20 files that go with the last message; the model is shown what it can take.',
        }),
        threadId: t.id({ description: 'Goes on from the generations of this thread that have ended.' }),
        idempotencyKey: t.string({
          description:
            'A repeat with the same key answers the first generation. Remembered until 24 hours after its end.',
        }),
        ...inputs.settings(t),
      }),
    }),
    payload: payloadOf(refs, 'StartGenerationPayload'),
    errors: ['ValidationError', 'NotFoundError', 'IdempotencyConflictError', 'LimitReachedError'],
    run: async (ctx, input) => ({ generation: await startGeneration(ctx, input) }),
  })
}

function addSubmit(refs: Refs, inputs: SettingInputs): void {
  const { builder } = refs
  const OutcomeStatus = builder.enumType('OutputOutcomeStatus', {
    description: 'What became of a submitted output.',
    values: {
      ACCEPTED: { description: 'It settled the call.' },
      UNCHANGED: { description: 'The same output was submitted before.' },
      REFUSED: { description: 'See error; the call is as it was.' },
    },
  })
  const OutcomeError = builder.objectRef<NonNullable<OutputOutcome['error']>>('OutputError').implement({
    description: 'Why one output was refused.',
    interfaces: [refs.Error],
  })
  const Outcome = builder.objectRef<OutputOutcome>('OutputOutcome').implement({
    description: 'What became of one submitted output.',
    fields: (t) => ({
      toolCallId: t.exposeID('toolCallId', { description: 'The call.' }),
      status: t.expose('status', { type: OutcomeStatus, description: 'What became of it.' }),
      error: t.expose('error', { type: OutcomeError, nullable: true, description: 'Why it was refused.' }),
    }),
  })
  const Output = builder.inputType('ToolOutputInput', {
    description: 'The output of one client call.',
    fields: (t) => ({
      toolCallId: t.id({ required: true, description: 'Begins with call_.' }),
      output: t.field({ type: 'JSON', description: 'Text or any JSON, at most 1 MiB.' }),
      isError: t.boolean({ description: 'The tool failed; output says why.' }),
    }),
  })
  addMutation(refs, {
    name: 'submitToolOutputs',
    action: `{ generation ${shown.generation} outcomes { toolCallId status error { code message } } }`,
    description:
      'Submits outputs of open client calls, all or some. Identical repeats are fine; the last one resumes the loop.',
    input: builder.inputType('SubmitToolOutputsInput', {
      description: 'Outputs of client calls of a generation and of the runs under it.',
      fields: (t) => ({
        generationId: t.id({
          required: true,
          description: 'Begins with gen_. The root of a chain takes the outputs of all of it.',
        }),
        outputs: t.field({ type: [Output], required: true, description: '1 to 100 of them.' }),
        atomic: t.boolean({ description: 'true: one refused output refuses all.' }),
        toolChoice: t.field({
          type: inputs.ToolChoice,
          description: 'For the next step of the generation that is named only.',
        }),
        activeToolIds: t.idList({
          description: 'For the next step of the generation that is named only; [] means none.',
        }),
      }),
    }),
    payload: builder
      .objectRef<{ generation: Generation; outcomes: OutputOutcome[] }>('SubmitToolOutputsPayload')
      .implement({
        description: 'What became of each output, and the generation as it stands now.',
        fields: (t) => ({
          generation: t.expose('generation', { type: refs.Generation, description: 'The generation.' }),
          outcomes: t.expose('outcomes', { type: [Outcome], description: 'One for each output, in order.' }),
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
      'Asks for the end of a generation and of all runs under it. Idempotent; one that has ended stays as it is.',
    input: refs.builder.inputType('CancelGenerationInput', {
      description: 'The generation to end.',
      fields: (t) => ({
        generationId: t.id({ required: true, description: 'Begins with gen_.' }),
        reason: t.string({ description: 'For people, at most 1,000 characters.' }),
      }),
    }),
    payload: payloadOf(refs, 'CancelGenerationPayload'),
    errors: ['NotFoundError', 'ValidationError'],
    run: async (ctx, input) => ({ generation: await cancelGeneration(ctx, input) }),
  })
}

/** Generations and their steps on the wire. */
import {
  cancelGeneration,
  generationStatuses,
  failureCodes,
  listGenerations,
  readEvents,
  encodeCursor,
  startGeneration,
  stopReasons,
  submitToolOutputs,
  textOf,
  type Generation,
  type OutputOutcome,
  type Step,
} from '../../domain/generations/index.ts'
import type { ToolCall } from '../../domain/tools/index.ts'
import { pageSizes } from './builder.ts'
import { connectionOf, hasPrefix, listCost, page } from './connections.ts'
import type { EventTypes } from './events.ts'
import { addMutation } from './mutation.ts'
import type { FactShape, Refs } from './refs.ts'
import type { SettingInputs } from './settings.ts'

export function addGenerations(refs: Refs, inputs: SettingInputs, events: EventTypes): void {
  const Status = addEnums(refs)
  addStepType(refs)
  addGenerationType(refs, Status)
  addLog(refs, events)
  addQueries(refs, Status)
  addStart(refs, inputs)
  addSubmit(refs, inputs)
  addCancel(refs)
}

type Status = ReturnType<typeof addEnums>

function addEnums(refs: Refs) {
  const { builder } = refs
  return {
    status: builder.enumType('GenerationStatus', {
      description: 'Where a generation stands. The last four are final.',
      values: Object.fromEntries(
        generationStatuses.map((s) => [s, { description: statusDescriptions[s] }]),
      ) as Record<(typeof generationStatuses)[number], { description: string }>,
    }),
    stopReason: builder.enumType('StopReason', {
      description: 'Why a completed generation ended.',
      values: stopReasons,
    }),
    failure: builder.enumType('GenerationFailureCode', {
      description: 'Why a generation failed.',
      values: failureCodes,
    }),
  }
}

const statusDescriptions: Record<(typeof generationStatuses)[number], string> = {
  QUEUED: 'Waits for a worker.',
  RUNNING: 'A worker has it.',
  REQUIRES_ACTION: 'Waits for submitToolOutputs.',
  AWAITING_APPROVAL: 'Waits for a verdict on a gated call.',
  COMPLETED: 'Done; see stopReason.',
  FAILED: 'See error.',
  CANCELLED: 'Cancelled by cancelGeneration.',
  EXPIRED: 'Its time, or that of a client output, is over.',
}

const kindNotice = 'openai, anthropic, google, compatible, or rehearsal: rule-based and not an AI.'

function modelType(refs: Refs) {
  return refs.builder.objectRef<{ name: string; kind: string }>('Model').implement({
    description: 'What answered.',
    fields: (t) => ({
      name: t.exposeString('name', { description: 'provider/model.' }),
      kind: t.string({
        description: kindNotice,
        resolve: (model) => (model.kind === 'builtin' ? 'REHEARSAL' : model.kind.toUpperCase()),
      }),
      isAi: t.boolean({
        description: 'false for the rehearsal model.',
        resolve: (model) => model.kind !== 'builtin',
      }),
    }),
  })
}

function usageType(refs: Refs) {
  return refs.builder.objectRef<Pick<Generation, 'inputTokens' | 'outputTokens'>>('Usage').implement({
    description: 'Tokens, as reported or estimated.',
    fields: (t) => ({
      inputTokens: t.exposeFloat('inputTokens', { description: 'Sent to the model.' }),
      outputTokens: t.exposeFloat('outputTokens', { description: 'Written by the model.' }),
      totalTokens: t.float({ description: 'Both.', resolve: (u) => u.inputTokens + u.outputTokens }),
    }),
  })
}

function addStepType(refs: Refs): void {
  const { builder } = refs
  refs.Step.implement({
    description: 'One model answer and its tool calls.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'step_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'Begins with step_.' }),
      index: t.exposeInt('stepIndex', { description: 'Counts from 1.' }),
      attempt: t.exposeInt('attempt', { description: 'The attempt that succeeded, from 1.' }),
      text: t.string({ description: 'What the model said.', resolve: (step) => textOf(step.parts) }),
      reasoning: t.string({
        description: 'What the model told of its reasoning.',
        resolve: (step) => step.parts.map((part) => (part.type === 'reasoning' ? part.text : '')).join(''),
      }),
      finishReason: t.exposeString('finishReason', {
        description: 'As the provider told it: stop, length, content-filter, tool-calls, other.',
      }),
      toolCalls: t.field({
        type: [refs.ToolCall],
        description: 'The calls of this step, in order.',
        complexity: { field: 1, multiplier: 10 },
        resolve: async (step, _args, { loaders }) => {
          const calls = await loaders.callsOf.load(step.generationId)
          return calls.filter((call) => call.stepIndex === step.stepIndex)
        },
      }),
      notice: t.exposeString('notice', {
        nullable: true,
        description: 'What the loop told the model in this step.',
      }),
      elided: t.expose('elided', {
        type: 'JSONObject',
        nullable: true,
        description: 'What of the history was left out, counted.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was committed.' }),
    }),
  })
}

function addGenerationType(refs: Refs, Status: Status): void {
  const { builder } = refs
  const Model = modelType(refs)
  const Usage = usageType(refs)
  builder.objectField(refs.Step, 'model', (t) =>
    t.field({ type: Model, description: 'What answered.', resolve: (step: Step) => step.model }),
  )
  builder.objectField(refs.Step, 'usage', (t) =>
    t.field({ type: Usage, description: 'Tokens of this step.', resolve: (step: Step) => step.usage }),
  )
  const GenerationError = builder.objectRef<NonNullable<Generation['error']>>('GenerationError').implement({
    description: 'Why a generation failed.',
    fields: (t) => ({
      code: t.expose('code', { type: Status.failure, description: 'For programs.' }),
      message: t.exposeString('message', { description: 'For people.' }),
    }),
  })
  const Output = builder.objectRef<NonNullable<Generation['output']>>('GenerationOutput').implement({
    description: 'What a completed generation gave.',
    fields: (t) => ({
      text: t.exposeString('text', { nullable: true, description: 'The final text.' }),
      object: t.field({
        type: 'JSON',
        nullable: true,
        description: 'The structured output.',
        resolve: (output) => output.object,
      }),
    }),
  })
  const Approval = builder.objectRef<{ id: string }>('PendingApproval').implement({
    description: 'A call that waits for a verdict.',
    fields: (t) => ({ id: t.exposeID('id', { description: 'Begins with apr_.' }) }),
  })
  const Required = builder.objectRef<{ toolCalls: ToolCall[] }>('RequiredAction').implement({
    description: 'What somebody must do before the generation goes on. Both lists are always there.',
    fields: (t) => ({
      toolCalls: t.expose('toolCalls', {
        type: [refs.ToolCall],
        description: 'Client calls: run them and submitToolOutputs.',
      }),
      approvals: t.field({
        type: [Approval],
        description: 'Gated calls that wait for a verdict.',
        resolve: () => [],
      }),
    }),
  })
  refs.Generation.implement({
    description: 'One run of an agent.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'gen_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'Begins with gen_.' }),
      status: t.expose('status', { type: Status.status, description: 'Where it stands.' }),
      stopReason: t.expose('stopReason', {
        type: Status.stopReason,
        nullable: true,
        description: 'Why it ended, when COMPLETED.',
      }),
      truncated: t.exposeBoolean('truncated', { description: 'Whether a limit cut it short.' }),
      error: t.expose('error', {
        type: GenerationError,
        nullable: true,
        description: 'Why it failed, when FAILED.',
      }),
      output: t.expose('output', {
        type: Output,
        nullable: true,
        description: 'What it gave, when COMPLETED.',
      }),
      model: t.expose('model', {
        type: Model,
        nullable: true,
        description: 'What answered last; null before the first attempt.',
      }),
      usage: t.field({ type: Usage, description: 'Tokens so far.', resolve: (generation) => generation }),
      stepCount: t.exposeInt('stepCount', { description: 'Model steps committed so far.' }),
      agent: t.field({
        type: refs.Agent,
        nullable: true,
        description: 'The agent as it is now; null when it was deleted or may not be seen.',
        resolve: (generation, _args, { loaders }) => loaders.agents.load(generation.agentId),
      }),
      threadId: t.exposeID('threadId', {
        description: 'Start another generation with it to go on from here.',
      }),
      requiredAction: t.field({
        type: Required,
        nullable: true,
        description: 'What somebody must do; null when nothing is open.',
        complexity: { field: 1, multiplier: 1 },
        resolve: async (generation, _args, { loaders }) => {
          const calls = await loaders.callsOf.load(generation.id)
          const toolCalls = calls.filter((call) => call.status === 'AWAITING_CLIENT')
          return toolCalls.length > 0 ? { toolCalls } : null
        },
      }),
      steps: t.field({
        type: [refs.Step],
        description: 'All steps, at most 101.',
        complexity: { field: 1, multiplier: 10 },
        resolve: (generation, _args, { loaders }) => loaders.stepsOf.load(generation.id),
      }),
      toolCalls: t.field({
        type: [refs.ToolCall],
        description: 'All calls, by step and place.',
        complexity: { field: 1, multiplier: 10 },
        resolve: (generation, _args, { loaders }) => loaders.callsOf.load(generation.id),
      }),
      requestedBy: t.exposeID('requestedBy', { description: 'The key that started it.' }),
      cancelRequestedAt: t.expose('cancelRequestedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When its end was asked for.',
      }),
      cancelReason: t.exposeString('cancelReason', { nullable: true, description: 'Why, as given.' }),
      deadlineAt: t.expose('deadlineAt', { type: 'DateTime', description: 'When it expires.' }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
      startedAt: t.expose('startedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When a worker first took it.',
      }),
      finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
    }),
  })
}

function addLog(refs: Refs, events: EventTypes): void {
  const { builder } = refs
  const Log = builder
    .objectRef<{ nodes: FactShape[]; endCursor: string | null; hasMore: boolean }>('GenerationEventPage')
    .implement({
      description: 'A page of the log, oldest first.',
      fields: (t) => ({
        nodes: t.field({
          type: [events.GenerationEvent],
          description: 'The events.',
          // Counted by the field that leads here.
          complexity: { field: 0, multiplier: 1 },
          resolve: (log) => log.nodes,
        }),
        endCursor: t.exposeString('endCursor', {
          nullable: true,
          description: 'Pass it as after to go on; null when the page is empty.',
        }),
        hasMore: t.exposeBoolean('hasMore', { description: 'Whether there is more right now.' }),
      }),
    })
  builder.objectField(refs.Generation, 'events', (t) =>
    t.field({
      type: Log,
      description:
        'The log after a cursor: the same events and cursors as the subscription, without text on its way.',
      args: {
        after: t.arg.string({ description: 'A cursor of an event; from the beginning when left out.' }),
        first: t.arg.int({ description: 'At most 100; 20 when left out.' }),
      },
      complexity: (args) => ({
        field: 1,
        multiplier: Math.min(args.first ?? pageSizes.default, pageSizes.maximum),
      }),
      resolve: async (generation: Generation, { after, first }, { ctx }) => {
        const limit = Math.max(1, Math.min(first ?? pageSizes.default, pageSizes.maximum))
        const log = await readEvents(ctx, generation, { after: after ?? null, first: limit })
        const nodes = log.events.map((event) => ({ ...event, cursor: encodeCursor(event) }))
        return { nodes, endCursor: nodes.at(-1)?.cursor ?? null, hasMore: log.more }
      },
    }),
  )
}

function addQueries(refs: Refs, Status: Status): void {
  const { builder } = refs
  const connection = connectionOf(refs.Generation, 'Generation')
  builder.queryField('generation', (t) =>
    t.field({
      type: refs.Generation,
      nullable: true,
      description: 'A generation by id; null when it does not exist for this key.',
      args: { id: t.arg.id({ required: true, description: 'Begins with gen_.' }) },
      resolve: (_root, { id }, { loaders }) => loaders.generations.load(id),
    }),
  )
  builder.queryField('generations', (t) =>
    t.field({
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

function addStart(refs: Refs, inputs: SettingInputs): void {
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
    description:
      'Starts a run of an agent and answers at once. Watch it with the subscription generationEvents.',
    input: builder.inputType('StartGenerationInput', {
      description: 'A run. What it gives beyond prompt and thread overrides the agent for this run only.',
      fields: (t) => ({
        agentId: t.id({ required: true, description: 'Begins with agt_.' }),
        prompt: t.string({ description: 'What the user says. Exactly one of prompt and messages.' }),
        messages: t.field({ type: [MessageInput], description: 'A conversation that ends with the user.' }),
        threadId: t.id({ description: 'Goes on from the generations of this thread that have ended.' }),
        idempotencyKey: t.string({
          description: 'A repeat with the same key answers the first generation. Remembered for 24 hours.',
        }),
        ...inputs.settings(t),
      }),
    }),
    payload: payloadOf(refs, 'StartGenerationPayload'),
    errors: ['ValidationError', 'NotFoundError', 'IdempotencyConflictError', 'LimitReachedError'],
    run: async (ctx, input) => ({ generation: await startGeneration(ctx, input as never) }),
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
    interfaces: [refs.Error as never],
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
    description:
      'Submits outputs of open client calls, all or some. Identical repeats are fine; the last one resumes the loop.',
    input: builder.inputType('SubmitToolOutputsInput', {
      description: 'Outputs of client calls of one generation.',
      fields: (t) => ({
        generationId: t.id({ required: true, description: 'Begins with gen_.' }),
        outputs: t.field({ type: [Output], required: true, description: '1 to 100 of them.' }),
        atomic: t.boolean({ description: 'true: one refused output refuses all.' }),
        toolChoice: t.field({ type: inputs.ToolChoice, description: 'For the next step only.' }),
        activeToolIds: t.idList({ description: 'For the next step only; [] means none.' }),
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
    run: (ctx, input) => submitToolOutputs(ctx, input as never),
  })
}

function addCancel(refs: Refs): void {
  addMutation(refs, {
    name: 'cancelGeneration',
    description: 'Asks for the end of a generation. Idempotent; one that has ended stays as it is.',
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
